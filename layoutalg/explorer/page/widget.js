// The page in a notebook: anywidget calls `render`, and questions go to Python as messages. widget.py puts the page's files before
// this text, as `FILES`: a module by its name, and the style sheet. In a shadow root the page and the notebook leave each other's
// styles alone. Without Python (a saved notebook) it shows what was known when it was saved.

const addresses = {};

// The address of a module whose imports lead to other such addresses.
function addressOf(name) {
  addresses[name] ??= URL.createObjectURL(new Blob(
    [FILES[name].replace(/from "\.\/([\w.]+)"/g, (_, other) => `from "${addressOf(other)}"`)], { type: "text/javascript" }));
  return addresses[name];
}

async function render({ model, el }) {
  const { start } = await import(addressOf("explorer.js"));
  const root = document.createElement("div");
  for (const one of document.querySelectorAll(`[data-layoutalg="${model.get("mark")}"]`)) one.hidden = true; // the page is here
  el.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab's keys, such as A for a new cell
  const style = document.createElement("style");
  style.textContent = FILES["explorer.css"];
  el.attachShadow({ mode: "open" }).append(style, root);
  const waiting = new Map();
  let last = 0;
  model.on("msg:custom", ({ to, answer }) => {
    waiting.get(to)?.(answer);
    waiting.delete(to);
  });
  const known = model.get("known");
  function ask(question) {
    const text = JSON.stringify(question);
    const before = known.find(([asked]) => JSON.stringify(asked) === text);
    if (before) return Promise.resolve(before[1]);
    last += 1;
    const mine = `${Date.now()}-${last}`;
    return new Promise((resolve) => {
      const silent = () => resolve({ error: { message: "Python does not answer: run the cell once more" } });
      waiting.set(mine, resolve);
      setTimeout(silent, 60000);
      try {
        model.send({ from: mine, question });
      } catch {
        silent(); // the kernel was restarted
      }
    });
  }
  start(root, ask, { address: false, state: model.get("state") });
}

export default { render };
