// A conversion as an animation: the words where they are (registers by lanes), and where they must be; step by step they fly.
//
// A step is `{title, moves: [[from lane, from register, to lane, to register], ...]}` or `{title, svg}`. A word has the hue of the lane
// that it comes from, so the colours below show the mixing.

import { drawing, el, replace } from "./dom.js";

const SIZE = 15;
const GAP = 40;
const LEFT = 46;
const DURATION = 1100; // milliseconds for a step
const SVG = "http://www.w3.org/2000/svg";

function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export class Moves {
  constructor() {
    this.stage = el("div", { class: "canvas", tabindex: "0", role: "img", "aria-label": "the words' moves" });
    this.play = el("button", { type: "button", class: "primary", onclick: () => this.toggle() }, "Play");
    this.back = el("button", { type: "button", class: "quiet", "aria-label": "one step back", onclick: () => this.go(Math.ceil(this.time) - 1) }, "◀");
    this.next = el("button", { type: "button", class: "quiet", "aria-label": "one step on", onclick: () => this.go(Math.floor(this.time) + 1) }, "▶");
    this.scrub = el("input", { type: "range", min: 0, step: 0.01, value: 0, "aria-label": "step of the conversion", oninput: () => { this.stop(); this.draw(Number(this.scrub.value)); } });
    this.title = el("p", { class: "told", role: "status" });
    this.node = el("figure", { class: "moves picture" }, this.stage, el("div", { class: "player" }, this.play, this.back, this.next, this.scrub), this.title);
    this.show([]);
  }

  show(steps) {
    this.stop();
    this.steps = steps;
    this.node.hidden = steps.length === 0;
    this.scrub.max = String(steps.length);
    this.said = null;
    replace(this.stage);
    this.words = null;
    if (!steps.length) return;
    if (steps.some((step) => step.moves)) this.build();
    this.draw(0);
  }

  build() {
    const all = this.steps.flatMap((step, i) => (step.moves || []).map((move) => [i, ...move]));
    const size = (at) => 1 + all.reduce((most, move) => Math.max(most, move[at]), 0);
    const lanes = Math.max(size(1), size(3));
    const [above, below] = [size(2), size(4)];
    const top = 30;
    const beside = lanes <= 32; // the result stands to the right, else below
    const wide = LEFT + lanes * SIZE + 12;
    const right = beside ? wide + GAP : 0;
    const lower = beside ? top : top + above * SIZE + GAP;
    const width = right + wide;
    const height = beside ? top + Math.max(above, below) * SIZE + 10 : lower + below * SIZE + 10;
    const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width: Math.min(width * 1.5, 1080), class: "stage" });
    const words = (x, y, text, anchor) => svg.append(svgElement("text", { x, y, "text-anchor": anchor }, text));
    const frame = (x, y, rows, name) => {
      for (let r = 0; r < rows; r += 1) {
        if (rows <= 16 || r % 4 === 0) words(x - 6, y + r * SIZE + 11, `reg ${r}`, "end");
        for (let l = 0; l < lanes; l += 1) svg.append(svgElement("rect", { class: "slot", x: x + l * SIZE, y: y + r * SIZE, width: SIZE, height: SIZE }));
      }
      for (let l = 0; l < lanes; l += lanes > 32 ? 8 : lanes > 16 ? 4 : 1) words(x + l * SIZE + SIZE / 2, y - 5, String(l), "middle");
      words(x - 6, y - 5, "lane", "end");
      words(x, y - 17, name, "start");
    };
    frame(LEFT, top, above, "before");
    frame(LEFT + right, lower, below, "after");
    this.words = all.map(([step, lane, register, toLane, toRegister]) => {
      const place = (x, y, l, r) => [x + l * SIZE + 1.5, y + r * SIZE + 1.5];
      const from = place(LEFT, top, lane, register);
      const still = svgElement("rect", { class: "word", x: from[0], y: from[1], width: SIZE - 3, height: SIZE - 3, rx: 2, fill: hue(lane, lanes) });
      const moving = still.cloneNode();
      still.classList.add("origin");
      svg.append(still);
      return { step, from, to: place(LEFT + right, lower, toLane, toRegister), moving };
    });
    svg.append(...this.words.map((word) => word.moving));
    replace(this.stage, svg);
  }

  draw(time) {
    this.time = Math.min(Math.max(time, 0), this.steps.length);
    this.scrub.value = String(this.time);
    const now = Math.min(Math.floor(this.time), this.steps.length - 1);
    const step = this.steps[now];
    this.stage.setAttribute("aria-label", `step ${now + 1} of ${this.steps.length}: ${step.title}`);
    if (this.said !== now) {
      this.title.textContent = `Step ${now + 1} of ${this.steps.length}: ${step.title}${step.moves ? ` (${step.moves.length} words)` : ""}`;
      if (!this.words && step.svg) replace(this.stage, drawing(step.svg));
      this.said = now;
    }
    for (const word of this.words || []) {
      const done = Math.min(Math.max(this.time - word.step, 0), 1);
      const eased = done * done * (3 - 2 * done);
      word.moving.setAttribute("x", word.from[0] + (word.to[0] - word.from[0]) * eased);
      word.moving.setAttribute("y", word.from[1] + (word.to[1] - word.from[1]) * eased);
      word.moving.classList.toggle("flying", done > 0 && done < 1);
    }
  }

  go(step) {
    this.stop();
    this.draw(step);
  }

  toggle() {
    if (this.frame) return this.stop();
    if (this.time >= this.steps.length) this.draw(0);
    this.play.textContent = "Pause";
    const jumps = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let before = null;
    const tick = (now) => {
      const passed = before === null ? 0 : (now - before) / DURATION;
      if (!jumps || passed >= 1) {
        before = now;
        this.draw(this.time + (jumps ? Math.floor(passed) : passed));
      } else if (before === null) before = now;
      if (this.time >= this.steps.length) this.stop();
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
    return undefined;
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.play.textContent = "Play";
  }
}

function hue(lane, lanes) {
  const share = lanes < 2 ? 0 : lane / (lanes - 1);
  return `hsl(${Math.round(215 + share * 260) % 360} 62% ${lane % 2 ? 62 : 50}%)`;
}
