(function (data) {
  "use strict";
  // The script stands in its picture; where a viewer moved it, the pictures that no script has taken yet are next in line.
  const current = document.currentScript;
  const root = current && current.closest(".layoutalg") || document.querySelector(".layoutalg:not([data-ready])");
  if (!root || root.hasAttribute("data-ready")) return;
  root.setAttribute("data-ready", "");
  const words = { sg: "subgroup", reg: "register" };
  const word = (name) => words[name] || name;
  let colour = data.colour;
  let pinned = null;

  const views = {};
  root.querySelectorAll(".view").forEach((box) => {
    const image = box.querySelector("img");
    if (image) {
      const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (c) => c.charCodeAt(0));
      const parsed = new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml");
      image.replaceWith(document.importNode(parsed.documentElement, true));
    }
    const svg = box.querySelector("svg");
    svg.style.maxWidth = "100%";
    svg.style.height = "auto";
    const view = { box, rects: Array.from(svg.querySelectorAll(".cells rect")), cells: [], holders: new Map() };
    view.labels = Array.from(svg.querySelectorAll(".labels text"));
    view.legends = Array.from(svg.querySelectorAll(".legend"));
    data.views[box.dataset.direction].forEach((grid) => {
      const count = grid.owners.length ? grid.owners[0].length : grid.elements.length ? grid.elements[0].length : 1;
      for (let i = 0; i < count; i++) view.cells.push({ grid, i });
    });
    view.cells.forEach((cell, at) => {
      places(cell).forEach((owner) => {
        const key = holder(cell.grid, owner);
        if (!view.holders.has(key)) view.holders.set(key, []);
        view.holders.get(key).push(at);
      });
    });
    view.rects.forEach((rect, at) => {
      const title = rect.querySelector("title");
      if (title) title.remove();
      rect.dataset.cell = at;
      rect.style.cursor = "pointer";
    });
    svg.addEventListener("mouseover", (event) => { if (pinned === null) show(view, at(event)); });
    svg.addEventListener("mouseleave", () => { if (pinned === null) show(view, null); });
    svg.addEventListener("click", (event) => {
      const cell = at(event);
      pinned = cell === pinned ? null : cell;
      show(view, cell);
    });
    views[box.dataset.direction] = view;
  });

  function at(event) {
    const cell = event.target.dataset ? event.target.dataset.cell : undefined;
    return cell === undefined ? null : Number(cell);
  }

  // The lowest owner of a cell, and every further place of its element.
  function places(cell) {
    const lowest = cell.grid.owners.map((values) => values[cell.i]);
    return [lowest].concat(cell.grid.copies.map((copy) => lowest.map((value, d) => value + copy[d])));
  }

  function holder(grid, owner) {
    return grid.holder.map((d) => owner[d]).join(",");
  }

  function spoken(grid, owner, only) {
    return grid.names.map((name, d) => [name, d]).filter(([, d]) => !only || only.includes(d))
      .map(([name, d]) => word(name) + " " + owner[d]).join(", ");
  }

  function show(view, at) {
    view.rects.forEach((rect) => {
      rect.removeAttribute("opacity");
      rect.removeAttribute("data-same");
    });
    if (at === null) {
      info.textContent = "Hover a cell to see who holds it; click to keep it.";
      return;
    }
    const cell = view.cells[at];
    const owners = places(cell);
    const same = new Set(view.holders.get(holder(cell.grid, owners[0])));
    view.rects.forEach((rect, i) => {
      if (same.has(i)) rect.setAttribute("data-same", "");
      else rect.setAttribute("opacity", "0.25");
    });
    const element = cell.grid.elements.map((values) => values[cell.i]);
    let text = "element (" + element.join(", ") + "): " + spoken(cell.grid, owners[0]);
    if (cell.grid.tile.length) {
      text += "; tile (" + element.map((x, d) => Math.floor(x / cell.grid.tile[d])).join(", ") + ")";
    }
    if (cell.grid.copies_of > 1) {
      const moved = cell.grid.names.map((_, d) => d).filter((d) => cell.grid.copies.some((copy) => copy[d]));
      const listed = owners.slice(1, 9).map((owner) => spoken(cell.grid, owner, moved));
      const more = cell.grid.copies_of - 1 - listed.length;
      text += "; replicas: " + listed.join("; ") + (more > 0 ? "; and " + more + " more" : "");
    }
    info.textContent = text;
  }

  function paint() {
    Object.values(views).forEach((view) => {
      let label = 0;
      view.cells.forEach((cell, i) => {
        const colours = cell.grid.colours[colour];
        const at = colours.cells[cell.i];
        view.rects[i].setAttribute("fill", colours.palette[at]);
        if (view.labels.length) view.labels[label++].setAttribute("fill", colours.inks[at]);
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
    group.style.marginRight = "16px";
    group.append(kind + " ");
    const buttons = names.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = titles[name] || name;
      button.dataset[kind === "colour" ? "colour" : "direction"] = name;
      button.addEventListener("click", () => {
        buttons.forEach((one) => press(one, one === button));
        change(name);
      });
      press(button, name === chosen);
      group.append(button);
      return button;
    });
    return group;
  }

  function press(button, pressed) {
    button.setAttribute("aria-pressed", String(pressed));
    button.style.cssText = "font: inherit; margin: 0 2px; padding: 1px 8px; cursor: pointer; border-radius: 4px; "
      + "border: 1px solid #888888; color: " + (pressed ? "#ffffff" : "#222222")
      + "; background: " + (pressed ? "#333333" : "#f2f2f2") + ";";
  }

  const bar = document.createElement("div");
  bar.className = "bar";
  bar.style.cssText = "font: 12px/1.9 ui-monospace, Menlo, Consolas, monospace; margin-bottom: 4px;";
  bar.append(choice("colour", data.colourings, {}, colour, (name) => { colour = name; paint(); }));
  if (Object.keys(data.directions).length > 1) {
    bar.append(choice("show", Object.keys(data.directions), data.directions, data.direction, (name) => {
      pinned = null;
      Object.entries(views).forEach(([direction, view]) => {
        view.box.hidden = direction !== name;
        show(view, null);
      });
    }));
  }
  const info = document.createElement("div");
  info.className = "info";
  info.setAttribute("aria-live", "polite");
  info.style.cssText = "font: 12px/1.5 ui-monospace, Menlo, Consolas, monospace; min-height: 1.5em;";
  root.prepend(bar, info);
  Object.values(views).forEach((view) => show(view, null));
});
