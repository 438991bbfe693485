(function (data) {
  "use strict";
  // opening.js: root, the element that this script stands in
  root.querySelectorAll(".panel").forEach((old) => old.remove()); // of a page that was saved while it was open

  const svg = drawingOf(root.querySelector(".drawing"));

  const panel = document.createElement("div");
  panel.className = "panel";
  panel.style.cssText = "font: 13px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; margin: 8px 0";
  panel.setAttribute("aria-live", "polite");
  panel.textContent = "Click on a line: " + (data.pictures.length ? "who holds what at both ends, and the exchange." : "what it carries.");
  root.appendChild(panel);

  const lines = Array.from(svg.querySelectorAll("[data-line]"));
  const show = (line) => {
    const told = data.panels[Number(line.dataset.line)];
    lines.forEach((one) => (one.style.fontWeight = one === line ? "bold" : ""));
    panel.replaceChildren();
    if (!told) return;
    told.words.forEach((words) => {
      const paragraph = document.createElement("div");
      paragraph.innerHTML = words; // escaped where the page was written
      panel.appendChild(paragraph);
    });
    const row = document.createElement("div");
    row.style.cssText = "display: flex; flex-wrap: wrap; gap: 24px; margin-top: 8px";
    told.pictures.forEach(([caption, number]) => {
      const figure = document.createElement("figure");
      figure.style.margin = "0";
      figure.innerHTML = "<figcaption>" + caption + "</figcaption>" + data.pictures[number];
      row.appendChild(figure);
    });
    panel.appendChild(row);
  };
  lines.forEach((line) => {
    line.setAttribute("tabindex", "0");
    line.setAttribute("role", "button");
    line.addEventListener("click", () => show(line));
    line.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        show(line);
      }
    });
  });
});
