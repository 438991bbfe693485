// A picture that can be asked: the pointer and the arrow keys walk its cells, Enter or a click pins all that one lane holds.
//
// The SVG has a rectangle for each cell (`.cells rect`) with a sentence as its title. Of a layout, the answer's scene says in
// `cells[i].group` and `members[group]` which cells one lane holds; a picture without a scene is walked cell by cell.

import { drawing, el, framed, freshId, replace } from "./dom.js";

const MOST_LISTED = 400;
const LEAST_TEXT = 7; // pixels: a phone shows no text smaller
const MOST_SCALE = 1.3;
const MARGIN = 8; // of the picture's paper, which goes: the page has its own
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// A frame on top of each of some cells: a line in the colour of the paper, and a darker one within.
function framesOf(rects) {
  const frames = document.createElementNS(rects[0].namespaceURI, "g");
  frames.setAttribute("class", "marks");
  for (const rect of rects) {
    const frame = rect.cloneNode();
    for (const name of ["fill", "class"]) frame.removeAttribute(name);
    frames.append(frame, frame.cloneNode());
  }
  return frames;
}

export class Picture {
  constructor(name, hint = true) {
    const told = freshId("told");
    this.name = name;
    this.hint = hint;
    this.canvas = el("div", { class: "canvas", tabindex: "0", role: "application", "aria-label": name, "aria-describedby": told });
    this.told = el("p", { class: "told", id: told, role: "status" });
    this.held = el("div", { class: "held" });
    this.frame = framed(this.canvas);
    this.node = el("figure", { class: "picture" }, this.frame, this.told, this.held);
    this.rects = [];
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => { if (this.pinned === null) this.mark(null); });
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => { this.fit(); this.frame.update(); }).observe(this.canvas);
    this.clear();
  }

  clear() {
    this.show({});
  }

  show({ svg, scene, title }) {
    this.svg = svg ? drawing(svg) : null;
    this.node.hidden = this.svg === null;
    if (this.svg) {
      const { width, height } = this.svg.viewBox.baseVal;
      this.natural = [width - 2 * MARGIN, height - 2 * MARGIN];
      this.svg.setAttribute("viewBox", `${MARGIN} ${MARGIN} ${this.natural.join(" ")}`);
      this.least = LEAST_TEXT / Math.min(...[...this.svg.querySelectorAll("[font-size]")].map((one) => parseFloat(one.getAttribute("font-size"))), 10 * LEAST_TEXT);
      if (title) this.canvas.setAttribute("aria-label", `${this.name}: ${title}`);
      this.fit(); // before it is drawn, so that its texts are laid out once
    }
    replace(this.canvas, this.svg);
    this.rects = this.svg ? [...this.svg.querySelectorAll(".cells rect")] : [];
    this.labels = this.svg ? [...this.svg.querySelectorAll(".labels text")] : [];
    if (this.labels.length !== this.rects.length) this.labels = [];
    this.sentences = this.rects.map((rect) => {
      const said = rect.querySelector("title");
      if (said) said.remove();
      return said ? said.textContent : "";
    });
    this.scene = scene && scene.cells && scene.cells.length === this.rects.length ? scene : null;
    this.number = new Map(this.rects.map((rect, i) => [rect, i]));
    this.at = null;
    this.pinned = null;
    this.marked = [];
    this.chosen = { cells: [], dim: true, told: "" };
    this.mark(null);
    replace(this.held);
  }

  fit() {
    if (!this.svg || !this.canvas.clientWidth) return;
    const scale = Math.min(Math.max((this.canvas.clientWidth - 2) / this.natural[0], this.least), MOST_SCALE);
    this.svg.setAttribute("width", Math.floor(this.natural[0] * scale));
    this.svg.setAttribute("height", Math.floor(this.natural[1] * scale));
  }

  hover(event) {
    if (this.pinned !== null) return;
    const at = this.number.get(event.target);
    if (at !== this.at) this.mark(at === undefined ? null : at);
  }

  click(event) {
    const at = this.number.get(event.target);
    if (at !== undefined) this.pin(at);
  }

  key(event) {
    if (!this.rects.length || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = KEYS[event.key];
    if (step) {
      const next = this.at === null ? 0 : this.neighbour(step);
      this.pinned = null;
      replace(this.held);
      this.mark(next);
      this.rects[next].scrollIntoView({ block: "nearest", inline: "nearest" });
    } else if (event.key === "Home" || event.key === "End") {
      this.pinned = null;
      replace(this.held);
      this.mark(event.key === "Home" ? 0 : this.rects.length - 1);
    } else if ((event.key === "Enter" || event.key === " ") && this.at !== null) {
      this.pin(this.at);
    } else if (event.key === "Escape" && this.at !== null) {
      this.pinned = null;
      replace(this.held);
      this.mark(null);
    } else return;
    event.preventDefault();
  }

  // The nearest cell to one side: as straight as possible first, then as near as possible.
  neighbour([dx, dy]) {
    const place = (rect) => [rect.x.baseVal.value, rect.y.baseVal.value];
    const [x, y] = place(this.rects[this.at]);
    let [found, best] = [this.at, Infinity];
    this.rects.forEach((rect, i) => {
      const [tox, toy] = place(rect);
      const ahead = dx * (tox - x) + dy * (toy - y);
      if (ahead <= 0) return;
      const far = ahead + 1000 * Math.abs(dx ? toy - y : tox - x);
      if (far < best) [found, best] = [i, far];
    });
    return found;
  }

  members(at) {
    if (!this.scene) return [at];
    return this.scene.members[this.scene.cells[at].group] || [at];
  }

  mark(at) {
    this.at = at;
    if (at === null) this.outline(this.chosen.cells, this.chosen.dim);
    else this.outline(this.members(at));
    if (at !== null) this.rects[at].classList.add("here");
    this.told.textContent = at === null ? (this.rects.length && this.hint
      ? "Point at a cell, or walk with the arrow keys; Enter or a click pins all that its lane holds." : this.chosen.told) : this.sentences[at];
  }

  outline(cells, dim = true) {
    for (const i of this.marked) {
      this.rects[i].classList.remove("same", "here");
      if (this.labels[i]) this.labels[i].classList.remove("same");
    }
    for (const i of cells) {
      this.rects[i].classList.add("same");
      if (this.labels[i]) this.labels[i].classList.add("same");
    }
    this.marked = cells;
    this.frames?.remove();
    this.frames = null;
    if (!this.svg) return;
    this.svg.classList.toggle("dim", dim && cells.length > 0);
    if (!dim && cells.length) this.frames = this.svg.appendChild(framesOf(cells.map((i) => this.rects[i])));
  }

  // Outlines the cells of elements, such as [[0, 5], [1, 5]], while no cell is pointed at; of a product, in the operand of a number.
  outlineElements(elements, { dim = true, operand = null, told = "" } = {}) {
    const wanted = new Set(elements.map(String));
    const cells = this.scene ? this.scene.cells : [];
    const is = (one) => wanted.has(String(one.element)) && (operand === null || one.operand === operand);
    const chosen = cells.flatMap((one, i) => (is(one) ? [i] : []));
    this.chosen = { cells: chosen, dim, told: chosen.length ? told : "" };
    this.mark(null);
  }

  pin(at) {
    if (this.pinned === at) {
      this.pinned = null;
      replace(this.held);
      return;
    }
    this.mark(at);
    this.pinned = at;
    const cells = this.members(at);
    const listed = cells.slice(0, MOST_LISTED).map((i) => el("li", {}, this.sentences[i]));
    const more = cells.length > MOST_LISTED ? el("li", {}, `and ${cells.length - MOST_LISTED} more`) : null;
    replace(this.held,
      el("p", { role: "status" }, `Pinned: ${cells.length === 1 ? "1 cell" : `${cells.length} cells of the same lane`}. Escape or another Enter lets go.`),
      el("ol", { tabindex: "0", "aria-label": "what is pinned" }, listed, more));
  }
}
