// Fields bound to the state: what the user changes goes to the page, what a link or another tab changes comes back by `load`.
//
//   const shape = field(page, "shape", "Shape", { placeholder: "16x16" });     // shape.node stands in a panel

import { copied, el, freshId, replace } from "./dom.js";

export function labelled(words, control, note) {
  control.id = control.id || freshId("field");
  return el("div", { class: "field" }, el("label", { for: control.id }, words), control, note || null);
}

// A place for what is wrong: `say(error)`, and `say(null)` when it is right again.
export class Wrong {
  constructor() {
    this.node = el("p", { class: "error", role: "alert", id: freshId("error"), hidden: true });
  }

  say(error) {
    this.node.hidden = !error;
    replace(this.node, error ? el("span", {}, error.message) : null);
  }
}

// An error goes to the control that its field names, others to the last one: `blame(error, { shape, first }, wrong)`.
export function blame(error, places, last) {
  const at = error ? places[error.field] || last : null;
  for (const one of new Set([...Object.values(places), last])) one.say(one === at ? error : null);
}

export function field(page, name, words, attributes = {}) {
  const input = el("input", {
    type: "text", autocomplete: "off", spellcheck: "false", autocapitalize: "off", ...attributes,
    oninput: () => page.set(name, input.value),
  });
  page.bind(name, (value) => { if (input.value !== value) input.value = value; });
  const wrong = new Wrong();
  input.setAttribute("aria-describedby", wrong.node.id);
  const say = (error) => {
    wrong.say(error);
    input.setAttribute("aria-invalid", String(Boolean(error)));
  };
  return { input, say, node: labelled(words, input, wrong.node) };
}

// A name out of a list (or the promise of one) that is offered while one types; another name may be typed.
export function suggested(page, name, words, choices, attributes = {}) {
  const list = el("datalist", { id: freshId("choices") });
  Promise.resolve(choices).then((all) => replace(list, all.map((one) => el("option", { value: one }))));
  const made = field(page, name, words, { list: list.id, ...attributes });
  made.node.append(list);
  return made;
}

// A few choices, side by side; the first stands for the empty state.
export class Choice {
  constructor(page, name, words) {
    this.group = freshId(name);
    this.box = el("div", { class: "choices" });
    this.node = el("fieldset", { class: "choice", hidden: true }, el("legend", {}, words), this.box);
    this.names = [];
    this.change = (value) => page.set(name, value);
    this.titles = {};
    page.bind(name, (value) => { this.value = value; this.press(); });
  }

  show(names, chosen, titles = {}) {
    this.node.hidden = !names || names.length < 2;
    if (String(names) !== String(this.names)) {
      this.names = names || [];
      replace(this.box, this.names.map((one) => {
        const input = el("input", { type: "radio", name: this.group, value: one, onchange: () => this.change(one) });
        return el("label", {}, input, el("span", {}, titles[one] || one));
      }));
    }
    if (chosen) this.chosen = chosen;
    this.press();
  }

  press() {
    for (const input of this.box.querySelectorAll("input")) input.checked = input.value === (this.value || this.chosen || this.names[0]);
  }
}

export function llvmChoice(page) {
  const made = new Choice(page, "llvm", "LLVM");
  page.choices.then(({ llvm }) => made.show(llvm.map(String).reverse()));
  return made;
}

// A number as a slider and as a field; `change` gets it.
export function slider(words, low, high, value, change, step = 1) {
  const number = el("input", { type: "number", min: low, max: high, step, value });
  const range = el("input", { type: "range", min: low, max: high, step, value, "aria-label": `${words}, slider` });
  number.addEventListener("input", () => {
    if (number.value === "") return;
    range.value = number.value;
    change(number.value);
  });
  range.addEventListener("input", () => { number.value = range.value; change(range.value); });
  const node = labelled(words, number, range);
  node.classList.add("slider");
  return { node, number, range, set(to) { number.value = to; range.value = to; } };
}

// The box for a text. An error of its answer is underlined at its place, and stands below with a caret.
export class TextBox {
  constructor(page, name, words, attributes = {}) {
    this.wrong = new Wrong();
    this.box = el("textarea", {
      rows: "3", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-describedby": this.wrong.node.id, ...attributes,
      oninput: (event) => { this.grow(); this.say(null); page.set(name, this.box.value, event.inputType === "insertFromPaste"); },
      onscroll: () => { this.under.scrollTop = this.box.scrollTop; },
    });
    this.under = el("div", { class: "under", "aria-hidden": "true" });
    this.box.id = freshId("text");
    this.node = el("div", { class: "text" }, el("label", { for: this.box.id }, words), el("div", { class: "layers" }, this.under, this.box), this.wrong.node);
    this.box.addEventListener("dragover", (event) => event.preventDefault());
    this.box.addEventListener("drop", (event) => this.drop(event, page, name));
    page.bind(name, (value) => {
      if (this.box.value === value) return;
      this.box.value = value;
      this.say(null);
      this.grow();
    });
  }

  drop(event, page, name) {
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    file.text().then((text) => page.set(name, text));
  }

  grow() {
    const lines = this.box.value.split("\n").length;
    const wide = Math.ceil(this.box.value.length / 42);
    this.box.rows = Math.min(Math.max(lines, wide, 3), this.box.hasAttribute("data-tall") ? 24 : 9);
  }

  say(error) {
    this.wrong.say(error);
    this.under.replaceChildren();
    this.box.setAttribute("aria-invalid", String(Boolean(error)));
    if (!error || !error.line || !error.column) return;
    const lines = this.box.value.split("\n");
    const line = lines[error.line - 1] || "";
    const length = Math.max(error.length || 1, 1);
    const from = Math.max(error.column - 21, 0);
    const shown = line.slice(from, from + 40);
    const place = error.column - 1 - from;
    this.wrong.node.append(el("span", { class: "unseen" }, ` Line ${error.line}, column ${error.column}.`),
      el("code", { class: "caret", "aria-hidden": "true" }, `${shown}\n${" ".repeat(place)}${"^".repeat(Math.min(length, 20))}`));
    const before = lines.slice(0, error.line - 1).reduce((sum, one) => sum + one.length + 1, 0) + error.column - 1;
    const text = this.box.value;
    this.under.append(text.slice(0, before), el("mark", {}, text.slice(before, before + length) || " "), text.slice(before + length));
    this.under.scrollTop = this.box.scrollTop;
  }
}

// Saves the answer to a question as a file: in all formats that the library draws in, or in some.
export class Export {
  constructor(page, question, some = null) {
    this.said = el("span", { class: "said", role: "status" });
    const buttons = el("span", { class: "buttons" });
    this.node = el("div", { class: "export", role: "group", "aria-label": "save" }, el("span", {}, "Save"), buttons, this.said);
    page.choices.then(({ formats }) => replace(buttons, (some || [...formats, "text"]).map((format) =>
      el("button", { type: "button", class: "quiet", "data-format": format, onclick: () => this.save(page, question, format) }, format))));
  }

  async save(page, question, format) {
    this.said.textContent = "writing …";
    const answer = await page.ask({ kind: "export", of: question(), format });
    this.said.textContent = answer.error ? answer.error.message : answer.name;
    if (answer.error) return;
    const bytes = Uint8Array.from(atob(answer.base64), (one) => one.charCodeAt(0));
    const address = URL.createObjectURL(new Blob([bytes], { type: answer.type }));
    el("a", { href: address, download: answer.name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }
}

export function copyButton(text, words = "copy") {
  const button = el("button", { type: "button", class: "quiet", onclick: () => copied(button, text()) }, words);
  return button;
}

// Asks the newest question only: an answer that comes after a newer question is not shown.
export class Asker {
  constructor(page, show, busy) {
    Object.assign(this, { page, show, busy, asked: 0, before: null });
  }

  async ask(question) {
    const text = JSON.stringify(question);
    if (text === this.before) return;
    this.before = text;
    this.asked += 1;
    const mine = this.asked;
    this.stop?.abort();
    this.stop = new AbortController();
    this.busy?.setAttribute("aria-busy", "true");
    const answer = await this.page.ask(question, this.stop.signal);
    if (mine !== this.asked || !answer) return;
    this.busy?.removeAttribute("aria-busy");
    this.show(answer, question);
  }

  forget() {
    this.asked += 1;
    this.before = null;
    this.busy?.removeAttribute("aria-busy");
  }
}

// Whether the shape is one of other texts: it was set for them, and does not fit those that stand there now. Then it goes.
export function shapeOfOthers(page) {
  let noted = {};
  const texts = () => JSON.stringify([page.state.text, page.state.second]);
  return {
    note() {
      if (page.state.shape !== noted.shape) noted = { shape: page.state.shape, texts: texts() };
    },
    goes(error, asked) {
      if (!error || error.field !== "shape" || !asked.shape || asked.shape !== page.state.shape || noted.texts === texts()) return false;
      page.set("shape", "");
      return true;
    },
  };
}

// A question without what is empty.
export function filled(question) {
  return Object.fromEntries(Object.entries(question).filter(([, value]) => value !== "" && value !== undefined && value !== null));
}
