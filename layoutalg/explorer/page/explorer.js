// The explorer: one box for any text, and everything that layoutalg says about it. `start(root, ask)` builds it; `ask` is the only
// way out: a question (an object) in, an answer (a promise of an object) back, from a server, a worker or a notebook.
//
// The state is one flat object (state.js). A control sets a part of it, `set` writes the address and asks the open tab to refresh;
// a link, back and forward load the state into all controls.

import { algebraTab } from "./algebra_tab.js";
import { banksTab } from "./banks_tab.js";
import { compareTab } from "./compare_tab.js";
import { convertTab } from "./convert_tab.js";
import { copied, el } from "./dom.js";
import { fileTab } from "./file_tab.js";
import { gemmTab } from "./gemm_tab.js";
import { instructionsTab } from "./instructions_tab.js";
import { layoutTab } from "./layout_tab.js";
import { DEFAULTS, fromHash, toHash, tooLong } from "./state.js";

const TABS = [
  ["layout", "Layout", layoutTab, "Who holds which element of a tensor? Paste a layout of XeGPU, IREE, Triton, CuTe or AMX, or the name of a matrix instruction."],
  ["compare", "Compare", compareTab, "Do two layouts spread a tensor alike? Paste both, of any notations; what differs is drawn."],
  ["convert", "Convert", convertTab, "How does a tensor get from one layout to another? Every move, lane by lane, and the price of each way on a chip."],
  ["gemm", "GEMM", gemmTab, "How does a chip compute C = A B? Type three sizes: tiles, loads, registers and the time that they are predicted to take."],
  ["algebra", "Algebra", algebraTab, "What does an operation of CuTe's layout algebra give? Inputs and result side by side, and the steps between."],
  ["banks", "Banks", banksTab, "Do lanes wait for each other at shared memory? Say where the elements are, and who reads or writes them."],
  ["instructions", "Instructions", instructionsTab, "Which matrix instructions does a chip have? A name opens its layout."],
  ["file", "File", fileTab, "Are the layouts of a module right? Paste MLIR: its values with their layouts, and what is wrong at which line."],
];
const NARROW = 860; // pixels: one column
const PHONE = 640;
const PAUSE = 80; // milliseconds between the last key and the question

class Page {
  constructor(root, ask, address, state) {
    this.address = address;
    this.root = root;
    this.transport = ask;
    this.bindings = [];
    this.state = address ? fromHash(location.hash) : { ...DEFAULTS, ...state };
    this.tabs = {};
    this.choices = this.ask({ kind: "choices" }).then((answer) => ({ targets: [], planned: [], llvm: [], formats: [], ...answer }));
    this.build(root);
    this.fits = address && root.clientWidth <= PHONE ? "phone" : ""; // a notebook's cell is answered for once, as wide
    this.load();
    if (!address) return;
    this.watch((narrow) => {
      this.fits = narrow ? "phone" : "";
      this.tabs[this.state.tab].refresh(this.state);
    }, PHONE);
    window.addEventListener("popstate", () => this.follow());
    window.addEventListener("hashchange", () => this.follow());
  }

  build(root) {
    const list = el("div", { role: "tablist", "aria-label": "what to explore", class: "tabs", onkeydown: (event) => this.walk(event) });
    const panels = el("main", {});
    for (const [name, words, make, answers] of TABS) {
      const button = el("button", {
        type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.set({ tab: name }, true),
      }, words);
      const tab = make(this);
      tab.button = button;
      tab.panel = el("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, hidden: true }, el("p", { class: "lead" }, answers), tab.node);
      this.tabs[name] = tab;
      list.append(button);
      panels.append(tab.panel);
    }
    const link = el("button", { type: "button", class: "quiet link", onclick: () => this.share(link) }, "Copy link");
    link.hidden = !this.address;
    const brand = el("h1", {}, el("span", { class: "mark", "aria-hidden": "true" }, el("i"), el("i"), el("i"), el("i")), "layoutalg", el("span", { class: "unseen" }, " explorer"));
    root.classList.add("explorer");
    root.replaceChildren(el("header", {}, brand, list, link), panels);
  }

  // What the other tabs answer, each a button that opens it.
  tour() {
    return el("nav", { class: "tour", "aria-label": "the other tabs" }, TABS.slice(1).map(([name, words, , answers]) =>
      el("p", {}, el("button", { type: "button", class: "name", onclick: () => this.set({ tab: name }, true) }, words), " ", answers.replace(/\? .*/, "?"))));
  }

  // Calls `change` with whether the page is narrow, now and when that changes; explorer.css has the same widths.
  watch(change, width = NARROW) {
    let before = null;
    new ResizeObserver(() => {
      const narrow = this.root.clientWidth <= width;
      if (narrow !== before) change(narrow);
      before = narrow;
    }).observe(this.root);
  }

  share(button) {
    if (tooLong(this.state)) button.textContent = "too long for a link";
    else copied(button, location.href.replace(/[?][^#]*/, ""));
  }

  // Arrow keys go from tab to tab, as in every tab list.
  walk(event) {
    const names = TABS.map(([name]) => name);
    const at = names.indexOf(this.state.tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = names[(to + names.length) % names.length];
    this.set({ tab: name }, true);
    this.tabs[name].button.focus();
  }

  bind(name, load) {
    this.bindings.push([name, load]);
  }

  // set("shape", "8x16"), or set({ text, shape }, true): a step that `back` undoes.
  // What is typed is asked after a pause; with `soon`, such as what is pasted, at once.
  set(name, value, soon = false) {
    const [changes, step] = typeof name === "string" ? [{ [name]: value }, false] : [name, value === true];
    Object.assign(this.state, changes);
    if (this.address) history[step ? "pushState" : "replaceState"](null, "", toHash(this.state));
    if (step) this.load();
    else {
      for (const [bound, load] of this.bindings) if (bound in changes) load(this.state[bound]);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.tabs[this.state.tab].refresh(this.state), soon ? 0 : PAUSE);
    }
  }

  follow() {
    if (toHash(this.state) === location.hash) return;
    this.state = fromHash(location.hash);
    this.load();
  }

  load() {
    if (!(this.state.tab in this.tabs)) this.state.tab = "layout";
    for (const [name, tab] of Object.entries(this.tabs)) {
      const chosen = name === this.state.tab;
      tab.panel.hidden = !chosen;
      tab.button.setAttribute("aria-selected", String(chosen));
      tab.button.tabIndex = chosen ? 0 : -1;
      if (chosen) tab.button.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    for (const [name, load] of this.bindings) load(this.state[name]);
    clearTimeout(this.timer);
    this.tabs[this.state.tab].refresh(this.state);
  }

  waiting(more) {
    this.pending = (this.pending || 0) + more;
    this.root.classList.toggle("waiting", this.pending > 0);
  }

  async ask(question, signal) {
    this.waiting(1);
    try {
      return await this.transport(question, signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      return { error: { message: String(error.message || error) } };
    } finally {
      this.waiting(-1);
    }
  }
}

// `address` says whether the state is kept in the page's address: in a notebook it is not, and `state` is what is shown first.
export function start(root, ask, { address = true, state = {} } = {}) {
  return new Page(root, ask, address, state);
}
