// Pages of the reference are long: each class, function and command folds to its heading and its first sentence.
// A link that leads into a fold opens it, and so does printing. Without scripts everything is open.
(() => {
  const article = document.querySelector("article");
  if (!article || !/\/api\/[^/]+\//.test(location.pathname)) return;

  const sentence = (nodes) => {
    for (const node of nodes) {
      const paragraph = node.matches("p") ? node : node.querySelector(".doc-contents > p:not(.doc-class-bases)");
      if (paragraph) return paragraph.textContent.trim().split(/(?<=[.:?])\s/)[0].replace(/:$/, "");
    }
    return "";
  };

  const fold = (nodes) => {
    if (!nodes.length) return;
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = sentence(nodes) || "Show";
    details.className = "fold";
    nodes[0].before(details);
    details.append(summary, ...nodes);
  };

  const following = (heading) => {
    const nodes = [];
    for (let node = heading.nextElementSibling; node && !node.matches("h1, h2"); node = node.nextElementSibling) nodes.push(node);
    return nodes;
  };

  for (const heading of article.querySelectorAll(":scope > h2, .doc-object > h2")) fold(following(heading));

  const open = () => {
    const found = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!found) return;
    const beside = found.matches("h2") ? found.nextElementSibling : null;
    for (let one = found; one; one = one.parentElement) if (one.matches("details")) one.open = true;
    if (beside && beside.matches("details")) beside.open = true;
    found.scrollIntoView();
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => document.querySelectorAll("details.fold").forEach((one) => (one.open = true)));
  open();
})();
