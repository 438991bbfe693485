(function (given) {
  "use strict";
  // opening.js: root, the element that this script stands in
  if (typeof given === "string") unpacked(given).then(start, () => {}); // where it cannot be unpacked, the image stays
  else start(given);

  // What a notebook has: compressed, with the drawings, which come in the place of the image.
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const data = JSON.parse(await new Response(stream).text());
    root.querySelectorAll(".view").forEach((old) => old.remove());
    Object.entries(data.drawings).forEach(([direction, drawing]) => {
      const box = document.createElement("div");
      box.className = "view";
      box.dataset.direction = direction;
      box.append(document.importNode(new DOMParser().parseFromString(drawing, "image/svg+xml").documentElement, true));
      root.append(box);
    });
    return data;
  }

  function start(data) {
    root.querySelectorAll(".bar, .info").forEach((old) => old.remove()); // of a page that was saved while it was open
    let colour = data.colour;
    let pinned = null;

    const info = document.createElement("div");
    const views = {};
    root.querySelectorAll(".view").forEach((box) => {
      const svg = drawingOf(box);
      const facts = data.views[box.dataset.direction];
      const view = { box, facts, rects: Array.from(svg.querySelectorAll(".cells rect")), told: [] };
      view.labels = Array.from(svg.querySelectorAll(".labels text"));
      view.legends = Array.from(svg.querySelectorAll(".legend"));
      view.rects.forEach((rect, at) => {
        const title = rect.querySelector("title");
        view.told.push(title ? title.textContent : rect.dataset.told);
        rect.dataset.told = view.told[at];
        if (title) title.remove();
        rect.dataset.cell = at;
        rect.style.cursor = "pointer";
      });
      svg.addEventListener("mouseover", (event) => { if (pinned === null) show(view, cellAt(event)); });
      svg.addEventListener("mouseleave", () => { if (pinned === null) show(view, null); });
      svg.addEventListener("click", (event) => {
        const cell = cellAt(event);
        pinned = cell === pinned ? null : cell;
        show(view, cell);
      });
      views[box.dataset.direction] = view;
    });

    function cellAt(event) {
      const cell = event.target.dataset ? event.target.dataset.cell : undefined;
      return cell === undefined ? null : Number(cell);
    }

    function show(view, at) {
      const same = at === null ? null : new Set(view.facts.members[view.facts.groups[at]]);
      view.rects.forEach((rect, i) => {
        const faded = same !== null && !same.has(i);
        if (same !== null && !faded) rect.setAttribute("data-same", "");
        else rect.removeAttribute("data-same");
        [rect, view.labels[i]].forEach((one) => {
          if (one && faded) one.setAttribute("opacity", "0.25");
          else if (one) one.removeAttribute("opacity");
        });
      });
      info.textContent = at === null ? "Hover a cell to see who holds it; click to keep it." : view.told[at];
    }

    function paint() {
      Object.values(views).forEach((view) => {
        const colours = view.facts.colours[colour];
        view.rects.forEach((rect, i) => {
          rect.setAttribute("fill", colours.palette[colours.cells[i]]);
          if (view.labels[i]) view.labels[i].setAttribute("fill", colours.inks[colours.cells[i]]);
        });
        view.legends.forEach((legend) => {
          if (legend.dataset.by === colour) legend.removeAttribute("display");
          else legend.setAttribute("display", "none");
        });
      });
    }

    function choice(kind, names, titles, chosen, change) {
      const group = document.createElement("span");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", kind);
      group.style.cssText = "margin-right: 16px; white-space: nowrap;";
      group.append(kind + " ");
      const buttons = names.map((one) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = titles[one] || one;
        button.dataset[kind === "colour" ? "colour" : "direction"] = one;
        button.addEventListener("click", () => {
          buttons.forEach((other) => press(other, other === button));
          change(one);
        });
        press(button, one === chosen);
        group.append(button);
        return button;
      });
      return group;
    }

    function press(button, pressed) {
      button.setAttribute("aria-pressed", String(pressed));
      button.style.cssText = "font: inherit; margin: 0 2px; padding: 1px 8px; cursor: pointer; border-radius: 4px; "
        + (pressed ? "border: 1px solid #0072b2; color: #ffffff; background: #0072b2;"
          : "border: 1px solid #888888; color: inherit; background: transparent;");
    }

    const bar = document.createElement("div");
    bar.className = "bar";
    bar.style.cssText = "font: 12px/1.9 ui-monospace, Menlo, Consolas, monospace; margin-bottom: 4px;";
    bar.append(choice("colour", data.colourings, {}, colour, (one) => { colour = one; paint(); }));
    if (Object.keys(data.directions).length > 1) {
      bar.append(choice("show", Object.keys(data.directions), data.directions, data.direction, (one) => {
        pinned = null;
        Object.entries(views).forEach(([direction, view]) => {
          view.box.hidden = direction !== one;
          show(view, null);
        });
      }));
    }
    info.className = "info";
    info.setAttribute("aria-live", "polite");
    info.style.cssText = "font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; min-height: 1.5em;";
    root.prepend(bar, info);
    Object.values(views).forEach((view) => { view.box.hidden = view.box.dataset.direction !== data.direction; show(view, null); });
    paint();
  }
});
