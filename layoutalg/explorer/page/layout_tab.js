// Layout: one text, its picture first, then who holds what, what a compiler says of it, and how the other notations write it.

import { Asker, Choice, Export, TextBox, copyButton, field, filled, llvmChoice, slider } from "./controls.js";
import { el, replace, rowsTable } from "./dom.js";
import { LAYOUTS } from "./examples.js";
import { Gallery } from "./gallery.js";
import { Picture } from "./picture.js";

const MOST_TIMES = 16; // a slider of the shape goes to 16 times the size shown first
const DIRECTIONS = { tensor: "elements", hardware: "registers by lanes" };

export const examples = (page, all) => el("div", { class: "examples", role: "group", "aria-label": "examples" }, el("span", {}, "Try"),
  all.map(([words, state]) => el("button", { type: "button", class: "quiet", onclick: () => page.set(state, true) }, words)));

export function layoutTab(page) {
  const text = new TextBox(page, "text", "Any layout, type, attribute or instruction", { placeholder: "paste here: #xegpu.layout<…>, (8,4):(4,1), MFMA_F32_16x16x16_F16 …" });
  const colour = new Choice(page, "colour", "colour by");
  const direction = new Choice(page, "direction", "a cell is");
  const columns = new Choice(page, "columns", "columns");
  const operand = new Choice(page, "operand", "operand");
  const reading = new Choice(page, "as", "read as");
  const llvm = llvmChoice(page);
  const shape = field(page, "shape", "Shape", { placeholder: "the smallest that fits", class: "short" });
  const sizes = el("div", { class: "sizes" });
  const places = el("div", { class: "places" });
  const at = field(page, "at", "Owners of element", { placeholder: "such as 3, 5", class: "short" });
  const found = el("div", { class: "found", role: "status" });
  const picture = new Picture("picture of the layout");
  const report = el("div", { class: "report" });
  const texts = el("div", { class: "texts" });
  const axes = el("p", { class: "axes" });
  const question = () => filled({
    kind: "layout", text: page.state.text, shape: page.state.shape, colour: page.state.colour, direction: page.state.direction,
    llvm: Number(page.state.llvm) || null, as: page.state.as, fits: page.state.columns === "all" ? "" : page.fits,
  });
  const save = new Export(page, question);
  const answer = el("div", { class: "answer", hidden: true }, picture.node, save.node, el("div", { class: "below" }, report, texts));
  let operands = [];
  const asker = new Asker(page, show, answer);
  const holds = new Asker(page, showHeld, found);
  const owners = new Asker(page, showOwners, found);

  let before = {}; // the last question that had an answer
  function show(given, asked) {
    if (given.error && given.error.file) {
      page.set({ tab: "file", file: page.state.text, text: "" }, true);
      return;
    }
    if (given.error && given.error.field === "shape" && before.text !== asked.text && before.shape === asked.shape && asked.shape === page.state.shape) {
      page.set("shape", ""); // it was the shape of the text before
      return;
    }
    if (!given.error) before = asked;
    // A shape that is missing is said under the text while there is no picture: the report is hidden then.
    text.say(given.error && ((given.error.field || "text") !== "shape" || picture.svg === null) ? given.error : null);
    shape.say(given.error && given.error.field === "shape" && picture.svg !== null ? given.error : null);
    if (given.error) {
      answer.classList.add("stale");
      answer.hidden = picture.svg === null;
      gallery.show(answer.hidden);
      place();
      return;
    }
    gallery.show(false);
    answer.classList.remove("stale");
    answer.hidden = false;
    place();
    picture.show(given);
    operands = given.candidates || [];
    replace(report, el("h2", {}, "What it says"), rowsTable(given.report, "the report"), given.no_picture ? el("p", { class: "refused" }, `no picture: ${given.no_picture}`) : null,
      el("div", { class: "three" }, operands.map((one) => el("section", {}, el("h2", {}, one.name, " ", open(one.layout, `explore ${one.role}`)), rowsTable(one.report, one.name)))));
    colour.show(given.colourings, given.colour);
    const cells = (operands.length ? operands : [given]).reduce((sum, one) => sum + one.shape.reduce((all, size) => all * size, 1), 0);
    const folds = page.fits && (page.state.columns || (given.scene && given.scene.cells.length < cells));
    columns.show(folds ? ["", "all"] : [], "", { "": "folded to fit", all: "every column" });
    direction.show(given.directions, given.direction, DIRECTIONS);
    operand.show(operands.map((one) => one.role));
    const shown = chosen() || given;
    reading.show(page.state.as || (given.report || []).some(([name]) => name === "reading") ? ["tv", "memory"] : [], "", { tv: "threads and values", memory: "memory" });
    axes.textContent = Object.entries(shown.axes || {}).map(([axis, count]) => `${count} ${axis}`).join(" × ");
    showTexts(given);
    showSizes(given);
    showPlaces(shown.axes || {});
    ask();
  }

  const chosen = () => operands.find((one) => one.role === page.state.operand) || operands[0];
  const operandNumber = () => (operands.length ? operands.indexOf(chosen()) : null);
  const open = (layout, words, more = {}) => el("button", { type: "button", class: "quiet", "aria-label": words, onclick: () => page.set({ text: layout, shape: "", operand: "", colour: "", as: "", ...more }, true) }, "open");

  function showTexts({ texts: all = [], shape: sizes = [] }) {
    const rows = all.map((one) => el("tr", {}, el("th", { scope: "row" }, one.notation),
      el("td", {}, one.text ? el("code", {}, one.text) : el("span", { class: "refused" }, one.refused)),
      el("td", { class: "act" }, one.text ? [
        open(one.text, `explore the ${one.notation} text`, { shape: sizes.join("x"), as: one.notation === "CuTe" ? "tv" : "" }),
        copyButton(() => one.text)] : null)));
    replace(texts, all.length ? [el("h2", {}, "The same in other notations"), el("table", { class: "rows" }, el("tbody", {}, rows))] : []);
  }

  // The shape as sliders: from the size of the first answer to 16 times that.
  let base = { text: null };
  let sliders = [];
  function showSizes(given) {
    const dims = given.shape || [];
    if (base.text !== page.state.text || base.dims.length !== dims.length) {
      base = { text: page.state.text, dims };
      sliders = dims.map((size, i) => slider(`d${i}`, 1, Math.max(size * MOST_TIMES, 2), size, (value) => {
        const next = sliders.map((one) => one.number.value);
        next[i] = value;
        page.set("shape", next.join("x"));
      }));
      replace(sizes, sliders.map((one) => one.node));
    }
    dims.forEach((size, i) => { if (!sliders[i].node.matches(":focus-within")) sliders[i].set(size); });
    shape.input.placeholder = dims.length ? `${dims.join("x")}, the smallest that fits` : "the smallest that fits";
  }

  let placed = "";
  let held = {};
  page.bind("place", (text) => {
    const given = placeOf(text);
    for (const [axis, one] of Object.entries(held)) if (!one.node.matches(":focus-within")) one.set(given[axis] ?? 0);
  });
  function showPlaces(all) {
    const names = ["sg", "lane"].filter((axis) => all[axis] > 1);
    const told = JSON.stringify(names.map((name) => [name, all[name]]));
    if (told === placed) return;
    placed = told;
    const given = placeOf(page.state.place);
    held = Object.fromEntries(names.map((axis) => [axis, slider({ sg: "subgroup", lane: "lane" }[axis], 0, all[axis] - 1, given[axis] ?? 0, (value) => {
      page.set("place", Object.entries({ ...placeOf(page.state.place), [axis]: Number(value) }).map(([name, number]) => `${name}=${number}`).join(","));
    })]));
    replace(places, Object.values(held).map((one) => one.node));
  }

  function ask() {
    const about = filled(operands.length ? { text: page.state.text, shape: page.state.shape, operand: chosen().role } : { text: page.state.text, shape: page.state.shape, as: page.state.as });
    const place = placeOf(page.state.place);
    if (page.state.at.trim()) owners.ask({ kind: "owner", ...about, at: page.state.at.split(/[^0-9]+/).filter(Boolean).map(Number) });
    else owners.forget();
    if (Object.keys(place).length) holds.ask({ kind: "holds", ...about, place });
    else holds.forget();
    if (!Object.keys(place).length) known.held = null;
    if (!page.state.at.trim()) known.owners = null;
    tell();
  }

  // What is known of a place and of an element stands below the two, and is outlined.
  const known = { held: null, owners: null };
  function tell() {
    const all = [known.held, known.owners].filter(Boolean);
    replace(found, all.map((one) => one.lines), all.length ? el("button", { type: "button", class: "quiet", onclick: () => page.set({ at: "", place: "" }, true) }, "clear") : null);
    if (all.length || picture.pinned === null) picture.outlineElements(all.flatMap((one) => one.elements), { operand: operandNumber() });
  }

  function line(name, elements, words, more = null) {
    known[name] = { elements, lines: [el("p", {}, words), more] };
    tell();
  }

  function showHeld(given, asked) {
    if (given.error) return line("held", [], given.error.message);
    const who = Object.entries(asked.place).map(([axis, number]) => `${axis} ${number}`).join(", ");
    return line("held", given.elements, `${who} holds ${given.elements.length + (given.more || 0)} elements, in the order of its registers:`, el("code", {}, given.elements.map((one) => `(${one.join(", ")})`).join(" ")));
  }

  function showOwners(given, asked) {
    if (given.error) return line("owners", [], given.error.message);
    const who = given.owners.map((one) => Object.entries(one).map(([axis, number]) => `${axis} ${number}`).join(", "));
    return line("owners", [asked.at], `element (${asked.at.join(", ")}) is in ${who.join("; ")}${given.more ? `, and ${given.more} more` : ""}`);
  }

  const gallery = new Gallery(page);
  const settings = el("div", { class: "settings" },
    el("div", { class: "controls" }, operand.node, reading.node, colour.node, direction.node, columns.node, llvm.node),
    el("details", { class: "more", open: true }, el("summary", {}, "Shape"), shape.node, sizes),
    el("details", { class: "more", open: true }, el("summary", {}, "Who holds what"), axes, places, at.node, found));
  const tries = examples(page, LAYOUTS);
  const tour = el("div", { class: "below-box" }, el("h2", {}, "The other tabs answer"), page.tour());
  const asks = el("div", { class: "asked" }, text.node, tries, settings);
  const node = el("div", { class: "split" }, asks, answer, gallery.node, tour);

  // On a phone the picture comes first, and what changes it right below.
  let narrow = false;
  function place() {
    const [parent, after] = narrow && !answer.hidden ? [answer, picture.node] : [asks, tries];
    if (settings.parentElement !== parent) after.after(settings);
  }
  page.watch((now) => {
    narrow = now;
    place();
  });

  function refresh(state) {
    const empty = !state.text.trim();
    settings.hidden = empty;
    tries.hidden = empty;
    tour.hidden = !empty;
    if (empty) {
      gallery.show(true);
      answer.hidden = true;
      place();
      asker.forget();
      text.say(null);
      picture.clear();
      for (const one of [report, texts, sizes, places, found]) replace(one);
      base = { text: null };
      placed = "";
      return;
    }
    gallery.resting = true;
    asker.ask(question()).then(ask);
  }
  return { node, refresh };
}

function placeOf(text) {
  return Object.fromEntries(text.split(",").map((one) => one.split("=")).filter(([name, value]) => name && /^\d+$/.test(value || "")).map(([name, value]) => [name, Number(value)]));
}
