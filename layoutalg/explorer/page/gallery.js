// What an empty page shows: an example of each system as a small picture, to begin with.

import { drawing, el, replace } from "./dom.js";
import { LAYOUTS } from "./examples.js";

export class Gallery {
  constructor(page) {
    this.page = page;
    this.smalls = LAYOUTS.map(() => el("span", { class: "small", "aria-hidden": "true" }));
    this.node = el("div", { class: "gallery", hidden: true }, el("h2", {}, "Or begin with an example of each system"), el("div", { class: "cards" }, LAYOUTS.map(([words, state], i) =>
      el("button", { type: "button", class: "card", onclick: () => page.set(state, true) }, this.smalls[i], el("strong", {}, words), el("code", {}, state.text)))));
  }

  async show(shown) {
    this.node.hidden = !shown;
    this.resting = !shown;
    if (!shown || this.asking) return;
    this.asking = true;
    for (const [i, [, state]] of LAYOUTS.entries()) {
      if (this.resting) break; // the user's own question goes first
      if (this.smalls[i].firstChild) continue;
      const answer = await this.page.ask({ kind: "layout", ...state });
      if (answer && answer.svg) replace(this.smalls[i], cropped(answer));
    }
    this.asking = false;
  }
}

// The cells alone, without title and legend.
function cropped({ svg, scene }) {
  const drawn = drawing(svg);
  const { cells } = scene;
  const [left, top] = [Math.min(...cells.map((one) => one.x)), Math.min(...cells.map((one) => one.y))];
  const [right, bottom] = [Math.max(...cells.map((one) => one.x + one.width)), Math.max(...cells.map((one) => one.y + one.height))];
  drawn.querySelectorAll(".words, .legend, title").forEach((one) => one.remove());
  drawn.setAttribute("viewBox", `${left - 1} ${top - 1} ${right - left + 2} ${bottom - top + 2}`);
  drawn.removeAttribute("width");
  drawn.removeAttribute("height");
  drawn.removeAttribute("role");
  drawn.removeAttribute("aria-label");
  return drawn;
}
