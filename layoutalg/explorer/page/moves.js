// A conversion as an animation: the words where they are (registers by lanes), and where they must be. Step by step, and in a step
// lane by lane, they fly to their place: time 2.5 is the middle of the third step, when half of its lanes have sent their words.
//
// A step is `{title, part, moves: [[from lane, from register, to lane, to register, from subgroup], ...]}`; what stays in its place has
// no move. What comes is for subgroup 0. A word has the colour of the lane that it comes from (`colours`, by subgroup and lane), as in
// the pictures, so that the colours show the mixing.

import { el, framed, replace } from "./dom.js";

const SIZE = 15;
const GAP = 40;
const LEFT = 46;
const TOP = 30;
const MOST_ROWS = 32; // registers of a lane that are drawn
const LEAST = 0.8; // text of 9 pixels is 7 high
const NEAR = 1e-6;
const SECONDS = 9; // for all steps, if they are few
const LANE_SECONDS = 0.06; // for a lane of a step, at least, of the first 32
const MOST_TOLD = 4; // words of a lane whose ways are said
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
    this.back = el("button", { type: "button", class: "quiet", "aria-label": "one step back", onclick: () => this.go(Math.ceil(this.time) - 1) }, "◀◀ step");
    this.next = el("button", { type: "button", class: "quiet", "aria-label": "one step on", onclick: () => this.go(Math.floor(this.time) + 1) }, "step ▶▶");
    this.laneBack = el("button", { type: "button", class: "quiet", "aria-label": "one lane back", onclick: () => this.go(this.turned(-1)) }, "◀ lane");
    this.laneNext = el("button", { type: "button", class: "quiet", "aria-label": "one lane on", onclick: () => this.go(this.turned(1)) }, "lane ▶");
    this.scrub = el("input", { type: "range", min: 0, step: "any", value: 0, "aria-label": "place in the conversion", oninput: () => { this.stop(); this.draw(Number(this.scrub.value)); } });
    this.title = el("p", { class: "told", role: "status" });
    this.lane = el("p", { class: "told", "aria-live": "polite" });
    this.window_ = framed(this.stage);
    this.node = el("figure", { class: "moves picture" }, this.window_, el("div", { class: "player" }, this.play, this.back, this.laneBack, this.laneNext, this.next, this.scrub), this.title, this.lane);
    new ResizeObserver(() => this.fit()).observe(this.stage);
    this.show({});
  }

  show({ steps = [], lanes = 1, registers = [1, 1], colours = {} }) {
    this.stop();
    Object.assign(this, { steps, lanes, registers, colours, part: null, said: null, sending: {}, drawing: null });
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
    const wide = LEFT + lanes * SIZE + 12;
    const beside = this.beside = this.hasRoom(); // the result stands to the right, else below
    const right = beside ? wide + GAP : 0;
    const outside = TOP + above * SIZE + 10; // where words of other subgroups come from
    const lower = beside ? TOP : outside + (others ? SIZE : 0) + GAP;
    const width = right + wide;
    const height = Math.max(outside + (others ? SIZE + 8 : 0), lower + below * SIZE + 10);
    const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, class: "stage" });
    this.size = [width, height];
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
    this.staying = false;
    for (let l = 0; l < lanes; l += 1) {
      for (let r = 0; r < above; r += 1) {
        svg.append(word(...place(LEFT, TOP, l, r), colours[0][l], "origin"));
        if (r < below && parts === 1 && !filled.has(`${l} ${r}`)) {
          svg.append(word(...place(LEFT + right, lower, l, r), colours[0][l], "word"));
          this.staying = true;
        }
      }
    }
    this.words = drawn.map(([step, lane, register, toLane, toRegister, group]) => {
      const from = group ? [LEFT + lane * SIZE, outside] : place(LEFT, TOP, lane, register);
      const senders = this.senders(step);
      return { step, start: senders.indexOf(lane) / senders.length, flight: 1 / senders.length, from, to: place(LEFT + right, lower, toLane, toRegister), moving: word(...from, colours[group][lane], "word") };
    });
    svg.append(...this.words.map((one) => one.moving));
    this.hiddenWords = all.length - drawn.length;
    this.drawing = svg;
    replace(this.stage, svg);
    this.fit();
  }

  // Whether the result has room beside what was before, with text of 7 pixels.
  hasRoom() {
    return this.stage.clientWidth >= LEAST * (2 * (LEFT + this.lanes * SIZE + 12) + GAP);
  }

  fit() {
    if (!this.drawing || !this.stage.clientWidth) return;
    if (this.beside !== this.hasRoom()) {
      this.part = null;
      this.draw(this.time); // builds, and fits
      return;
    }
    const scale = Math.min(Math.max((this.stage.clientWidth - 2) / this.size[0], LEAST), 1.5);
    this.drawing.setAttribute("width", Math.floor(this.size[0] * scale));
    this.drawing.setAttribute("height", Math.floor(this.size[1] * scale));
    this.window_.update();
  }

  // The lanes that send words in a step, in order: one after the other has its part of the step's time.
  senders(step) {
    return this.sending[step] ??= [...new Set(this.steps[step].moves.map(([lane]) => lane))].sort((a, b) => a - b);
  }

  // The time at which one lane more, or one less, has sent its words.
  turned(by) {
    const step = Math.min(Math.floor(by > 0 ? this.time + NEAR : this.time - NEAR), this.steps.length - 1);
    if (step < 0) return 0;
    const lanes = Math.max(this.senders(step).length, 1);
    const done = (this.time - step) * lanes;
    return step + (by > 0 ? Math.floor(done + NEAR) + 1 : Math.ceil(done - NEAR) - 1) / lanes;
  }

  // Which lane sent last, and where its words went.
  toldLane() {
    const step = Math.min(Math.max(Math.ceil(this.time - NEAR) - 1, 0), this.steps.length - 1);
    const senders = this.senders(step);
    const sent = Math.ceil((this.time - step) * senders.length - NEAR);
    if (this.time === 0 && this.staying) return "Pale: it stays where it is, and stands in the result from the start";
    if (this.time === 0 || !senders.length) return "";
    const lane = senders[sent - 1];
    const ways = this.steps[step].moves.filter(([from]) => from === lane).map(([, register, to, toRegister]) => `reg ${register} to lane ${to} reg ${toRegister}`);
    const more = ways.length > MOST_TOLD ? ` and ${ways.length - MOST_TOLD} more` : "";
    return `Lane ${lane} (${sent} of ${senders.length} that send): ${ways.slice(0, MOST_TOLD).join(", ")}${more}`;
  }

  draw(time) {
    this.time = Math.min(Math.max(time, 0), this.steps.length);
    this.scrub.value = String(this.time);
    const now = Math.min(Math.max(Math.ceil(this.time - NEAR) - 1, 0), this.steps.length - 1);
    const step = this.steps[now];
    if (this.part !== step.part) this.build(step.part);
    if (this.said !== now) {
      const words = step.moves.length === 1 ? "1 word" : `${step.moves.length} words`;
      const hidden = this.hiddenWords ? `; the first ${MOST_ROWS} registers are drawn` : "";
      this.title.textContent = `Step ${now + 1} of ${this.steps.length}: ${step.title} (${words}${hidden})`;
      this.stage.setAttribute("aria-label", this.title.textContent);
      this.said = now;
    }
    const lane = this.toldLane();
    if (this.lane.textContent !== lane) this.lane.textContent = lane;
    for (const word of this.words) {
      const passed = (this.time - word.step - word.start) / word.flight;
      const done = passed > 1 - NEAR ? 1 : Math.max(passed, 0);
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
    const duration = 1000 * Math.max(SECONDS / Math.max(this.steps.length, 3), 0.9, LANE_SECONDS * Math.min(this.lanes, 32));
    this.lane.setAttribute("aria-live", "off");
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
    this.lane.setAttribute("aria-live", "polite");
  }
}
