(function () {
  "use strict";
  // opening.js: root, the element that this script stands in
  root.querySelectorAll(".player").forEach((old) => old.remove()); // of a page that was saved while it was open

  const steps = Array.from(root.querySelectorAll(".step"));
  root.querySelectorAll(".step .part").forEach(drawingOf);
  const element = (tag, attributes) => Object.assign(document.createElement(tag), attributes);
  const bar = element("div", { className: "player" });
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "steps of the conversion");
  bar.style.cssText = "display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin: 8px 12px 12px; font: 14px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
  const back = element("button", { type: "button", textContent: "\u25c0" });
  const next = element("button", { type: "button", textContent: "\u25b6" });
  const place = element("input", { type: "range", min: 1, max: steps.length, value: 1 });
  const all = element("button", { type: "button", textContent: "all" });
  const told = element("span", {});
  back.setAttribute("aria-label", "one step back");
  next.setAttribute("aria-label", "one step on");
  place.setAttribute("aria-label", "step");
  told.setAttribute("role", "status");
  bar.append(back, place, next, all, told);
  root.prepend(bar);

  let whole = false;
  const show = (number) => {
    place.value = String(Math.min(Math.max(number, 1), steps.length));
    const now = Number(place.value);
    steps.forEach((step, i) => {
      step.hidden = !whole && i + 1 !== now;
      step.firstElementChild.hidden = !whole;
    });
    back.disabled = whole || now === 1;
    next.disabled = whole || now === steps.length;
    all.setAttribute("aria-pressed", String(whole));
    told.textContent = whole ? steps.length + " steps" : steps[now - 1].firstElementChild.textContent;
  };
  back.addEventListener("click", () => show(Number(place.value) - 1));
  next.addEventListener("click", () => show(Number(place.value) + 1));
  place.addEventListener("input", () => {
    whole = false;
    show(Number(place.value));
  });
  all.addEventListener("click", () => {
    whole = !whole;
    show(Number(place.value));
  });
  show(1);
});
