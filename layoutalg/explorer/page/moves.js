// A conversion as an animation: the words where they are (registers by lanes), and where they must be. Step by step, and in a step
// lane by lane, they fly to their place.
//
// A step is `{title, part, moves: [[from lane, from register, to lane, to register, from subgroup], ...]}`; what stays in its place has
// no move. What comes is for subgroup 0. A word has the colour of the lane that it comes from (`colours`, by subgroup and lane), as in
// the pictures, so that the colours show the mixing.

import { el, replace } from "./dom.js";

const SIZE = 15;
const GAP = 40;
const LEFT = 46;
const TOP = 30;
const MOST_ROWS = 32; // registers of a lane that are drawn
const FLIGHT = 0.45; // the part of a step for which one word flies
const SECONDS = 9; // for all steps, if they are few
const SVG = "http://www.w3.org/2000/svg";

function svgElement(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export class Moves {
  constructor() {
    this.stage = el("div", { class: "canvas", role: "img", "aria-label": "the words' moves" });
    this.play = el("button", { type: "button", class: "primary", onclick: () => this.toggle() }, "Play");
    this.back = el("button", { type: "button", class: "quiet", "aria-label": "one step back", onclick: () => this.go(Math.ceil(this.time) - 1) }, "◀");
    this.next = el("button", { type: "button", class: "quiet", "aria-label": "one step on", onclick: () => this.go(Math.floor(this.time) + 1) }, "▶");
    this.scrub = el("input", { type: "range", min: 0, step: 0.01, value: 0, "aria-label": "place in the conversion", oninput: () => { this.stop(); this.draw(Number(this.scrub.value)); } });
    this.title = el("p", { class: "told", role: "status" });
    this.node = el("figure", { class: "moves picture" }, this.stage, el("div", { class: "player" }, this.play, this.back, this.next, this.scrub), this.title);
    this.show({});
  }

  show({ steps = [], lanes = 1, registers = [1, 1], colours = {} }) {
    this.stop();
    Object.assign(this, { steps, lanes, registers, colours, part: null, said: null });
    this.node.hidden = steps.length === 0;
    this.scrub.max = String(steps.length);
    if (steps.length) this.draw(0);
  }

  // The stage of one part: a large tensor is converted part by part.
  build(part) {
    this.part = part;
    const all = this.steps.flatMap((step, i) => (step.part === part ? step.moves.map((move) => [i, ...move]) : []));
    const { lanes, colours } = this;
    const parts = new Set(this.steps.map((step) => step.part)).size;
    const size = (at, least) => Math.min(all.reduce((most, move) => Math.max(most, move[at] + 1), parts > 1 ? 1 : least), MOST_ROWS);
    const [above, below] = [size(2, this.registers[0]), size(4, this.registers[1])];
    const others = all.some((move) => move[5]);
    const beside = lanes <= 32 && matchMedia("(min-width: 861px)").matches; // the result stands to the right, else below
    const wide = LEFT + lanes * SIZE + 12;
    const right = beside ? wide + GAP : 0;
    const outside = TOP + above * SIZE + 10; // where words of other subgroups come from
    const lower = beside ? TOP : outside + (others ? SIZE : 0) + GAP;
    const width = right + wide;
    const height = Math.max(outside + (others ? SIZE + 8 : 0), lower + below * SIZE + 10);
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
    frame(LEFT, TOP, above, "before");
    frame(LEFT + right, lower, below, "after");
    if (others) words(LEFT, outside + SIZE + 4, "from other subgroups", "start");
    const word = (x, y, fill, name) => svgElement("rect", { class: name, x: x + 1.5, y: y + 1.5, width: SIZE - 3, height: SIZE - 3, rx: 2, fill });
    const place = (x, y, lane, register) => [x + lane * SIZE, y + register * SIZE];
    const drawn = all.filter(([, , register, , toRegister]) => register < above && toRegister < below);
    const filled = new Set(all.map(([, , , lane, register]) => `${lane} ${register}`));
    for (let l = 0; l < lanes; l += 1) {
      for (let r = 0; r < above; r += 1) {
        svg.append(word(...place(LEFT, TOP, l, r), colours[0][l], "origin"));
        if (r < below && parts === 1 && !filled.has(`${l} ${r}`)) svg.append(word(...place(LEFT + right, lower, l, r), colours[0][l], "word"));
      }
    }
    this.words = drawn.map(([step, lane, register, toLane, toRegister, group]) => {
      const from = group ? [LEFT + lane * SIZE, outside] : place(LEFT, TOP, lane, register);
      return { step, start: (1 - FLIGHT) * (lane / Math.max(lanes - 1, 1)), from, to: place(LEFT + right, lower, toLane, toRegister), moving: word(...from, colours[group][lane], "word") };
    });
    svg.append(...this.words.map((one) => one.moving));
    this.hiddenWords = all.length - drawn.length;
    replace(this.stage, svg);
  }

  draw(time) {
    this.time = Math.min(Math.max(time, 0), this.steps.length);
    this.scrub.value = String(this.time);
    const now = Math.min(Math.floor(this.time), this.steps.length - 1);
    const step = this.steps[now];
    if (this.part !== step.part) this.build(step.part);
    if (this.said !== now) {
      const words = step.moves.length === 1 ? "1 word" : `${step.moves.length} words`;
      const hidden = this.hiddenWords ? `; the first ${MOST_ROWS} registers are drawn` : "";
      this.title.textContent = `Step ${now + 1} of ${this.steps.length}: ${step.title} (${words}${hidden})`;
      this.stage.setAttribute("aria-label", this.title.textContent);
      this.said = now;
    }
    for (const word of this.words) {
      const done = Math.min(Math.max((this.time - word.step - word.start) / FLIGHT, 0), 1);
      if (done === word.done) continue;
      word.done = done;
      const eased = done * done * (3 - 2 * done);
      word.moving.setAttribute("x", word.from[0] + (word.to[0] - word.from[0]) * eased + 1.5);
      word.moving.setAttribute("y", word.from[1] + (word.to[1] - word.from[1]) * eased + 1.5);
      word.moving.classList.toggle("flying", done > 0 && done < 1);
    }
  }

  go(step) {
    this.stop();
    this.draw(step);
  }

  toggle() {
    if (this.frame) {
      this.stop();
      return;
    }
    if (this.time >= this.steps.length) this.draw(0);
    this.play.textContent = "Pause";
    const jumps = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const duration = Math.max((SECONDS * 1000) / Math.max(this.steps.length, 3), 900);
    let before = null;
    const tick = (now) => {
      before ??= now;
      const passed = (now - before) / duration;
      if (!jumps || passed >= 1) {
        before = now;
        this.draw(jumps ? Math.floor(this.time) + 1 : this.time + passed);
      }
      if (this.time >= this.steps.length) this.stop();
      else this.frame = requestAnimationFrame(tick);
    };
    this.frame = requestAnimationFrame(tick);
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.play.textContent = "Play";
  }
}
