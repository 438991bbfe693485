// Elements, and texts in them: nothing that comes from outside is ever read as HTML.
//
//   el("button", { class: "quiet", onclick: go }, "Go")
//
// `drawing` takes the SVG of an answer: the library has escaped every text in it; scripts, handlers and links are dropped here once more.
// The style sheets that a picture brings for other pages go before the text is read: the page's policy allows only its own.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
  return made;
}

const STYLE = /<style>[^<]*<\/style>/g;
const DROPPED = "script, foreignObject, style, iframe, image, use, a, animate, set";

export function drawing(text) {
  const svg = new DOMParser().parseFromString(text.replace(STYLE, ""), "image/svg+xml").documentElement;
  if (svg.nodeName !== "svg") return null;
  svg.querySelectorAll(DROPPED).forEach((one) => one.remove());
  for (const one of [svg, ...svg.querySelectorAll("*")]) {
    for (const { name } of [...one.attributes]) {
      if (name.startsWith("on") || name === "style" || name.endsWith("href")) one.removeAttribute(name);
    }
  }
  svg.classList.add("drawing"); // explorer.css has its colours, light and dark
  return document.adoptNode(svg);
}

// A box whose content may be wider than it: a line below says so, and its buttons turn to the next part. A keyboard scrolls the box itself.
export function framed(box) {
  const turn = (by) => box.scrollBy({ left: by * box.clientWidth * 0.8, behavior: "smooth" });
  const arrow = (by, words) => el("button", { type: "button", class: "quiet", tabindex: "-1", onclick: () => turn(by) }, words);
  const sign = el("p", { class: "goes", "aria-hidden": "true", hidden: true }, arrow(-1, "◀"), el("span", {}, "goes on: scroll sideways"), arrow(1, "▶"));
  const node = el("div", { class: "frame" }, el("div", { class: "window" }, box), sign);
  node.update = () => {
    const over = box.scrollWidth - box.clientWidth;
    sign.hidden = over < 2;
    node.classList.toggle("left", over >= 2 && box.scrollLeft > 1);
    node.classList.toggle("right", over >= 2 && box.scrollLeft < over - 1);
  };
  box.addEventListener("scroll", node.update, { passive: true });
  new ResizeObserver(node.update).observe(box);
  new MutationObserver(node.update).observe(box, { childList: true });
  return node;
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined));
}

let last = 0;
export function freshId(beginning) {
  last += 1;
  return `${beginning}-${last}`;
}

// Rows of a name and a text, as a table; a verdict and its reason stand out.
export function rowsTable(rows, caption) {
  let before = null;
  const body = (rows || []).map(([name, text]) => {
    const row = el("tr", { class: rowClass(name, text) }, el("th", { scope: "row" }, name === before ? "" : name), el("td", {}, text));
    before = name;
    return row;
  });
  return el("table", { class: "rows" }, el("caption", { class: "unseen" }, caption), el("tbody", {}, body));
}

function rowClass(name, text) {
  if (name === "why") return "why";
  if (!/^(LLVM|IREE|Triton|verdict)/.test(name)) return null;
  return /^accept/.test(text) ? "good" : "bad";
}

export function copied(button, text) {
  const done = () => {
    const before = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = before; }, 1200);
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => fallBack(text) && done());
  else if (fallBack(text)) done();
}

function fallBack(text) {
  const box = el("textarea", { class: "unseen", value: text });
  document.body.append(box);
  box.select();
  const worked = document.execCommand("copy");
  box.remove();
  return worked;
}
