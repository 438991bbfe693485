// Convert: how a tensor gets from one layout to the other, with the price of every way, and the words' moves as an animation.

import { Asker, Choice, Export, TextBox, Wrong, blame, field, filled, shapeOfOthers, suggested } from "./controls.js";
import { el, replace, rowsTable } from "./dom.js";
import { CONVERSIONS, ELEMENTS } from "./examples.js";
import { examples } from "./layout_tab.js";
import { Moves } from "./moves.js";
import { Picture } from "./picture.js";

const WIDE = 32; // lanes that have room beside the prices

export function convertTab(page) {
  const first = new TextBox(page, "text", "From", { placeholder: "a layout of any notation" });
  const second = new TextBox(page, "second", "To", { placeholder: "another, of any notation" });
  const shape = field(page, "shape", "Shape", { placeholder: "such as 16x16", class: "short" });
  const element = suggested(page, "element", "Element", ELEMENTS, { class: "short" });
  const target = suggested(page, "target", "Chip", page.choices.then(({ targets }) => targets), { class: "short" });
  const pressure = new Choice(page, "pressure", "who converts");
  pressure.show(["all", "alone"], "all", { all: "all subgroups at once", alone: "one, while others compute" });
  const question = () => filled({
    kind: "convert", first: page.state.text, second: page.state.second, shape: page.state.shape, element: page.state.element,
    target: page.state.target, pressure: page.state.pressure,
  });
  const wrong = new Wrong();
  const fields = { first, text: first, second, shape, element, target };
  const verdict = el("p", { class: "verdict good", role: "status" });
  const candidates = el("div", { class: "candidates" });
  const report = el("div", { class: "report" });
  const picture = new Picture("picture of the conversion", false);
  const moves = new Moves();
  const view = el("select", { "aria-label": "step of the picture", onchange: () => drawn() });
  const turn = (by) => {
    view.selectedIndex = Math.min(Math.max(view.selectedIndex + by, 0), view.length - 1);
    drawn();
    if ((by < 0 ? back : next).disabled) view.focus(); // a disabled button would lose the focus
  };
  const back = el("button", { type: "button", class: "quiet", "aria-label": "the step before", onclick: () => turn(-1) }, "◀");
  const next = el("button", { type: "button", class: "quiet", "aria-label": "the step after", onclick: () => turn(1) }, "▶");
  const whole = el("section", { class: "steps-drawn" }, el("h2", {}, "Step by step: registers, prices, shared memory"),
    el("div", { class: "player" }, back, view, next), picture.node);
  let views = [];
  const both = el("div", { class: "beside" }, el("div", { class: "stack" }, moves.node, whole), el("div", { class: "stack" }, candidates, report));
  const answer = el("div", { class: "answer wide", hidden: true }, verdict,
    both, new Export(page, question).node);
  const asker = new Asker(page, show, answer);
  const others = shapeOfOthers(page);

  function show(given, asked) {
    if (others.goes(given.error, asked)) return;
    blame(given.error, fields, wrong);
    answer.classList.toggle("stale", Boolean(given.error));
    if (given.error) return;
    answer.hidden = false;
    const taken = (given.candidates || []).find((one) => one.chosen);
    const price = taken && taken.price !== null ? `, for ${taken.price} issue slots on ${asked.target}` : "";
    verdict.textContent = taken ? `${taken.name}: ${taken.work || "nothing moves"}${price}` : "";
    both.classList.toggle("one", given.lanes > WIDE); // their words need the whole page
    replace(report, el("h2", {}, "The plan"), rowsTable(withoutCandidates(given.report), "the plan"));
    replace(candidates, priced(given.candidates || []));
    const at = view.selectedIndex;
    views = given.views || [];
    replace(view, views.map(([name], i) => el("option", { value: i }, `${i + 1} of ${views.length}: ${name}`)));
    view.selectedIndex = Math.min(Math.max(at, 0), views.length - 1);
    drawn();
    moves.show(given);
  }

  function drawn() {
    const [name, svg] = views[view.selectedIndex] || [];
    picture.show({ svg, title: name });
    back.disabled = view.selectedIndex <= 0;
    next.disabled = view.selectedIndex >= views.length - 1;
  }

  const node = el("div", { class: "stack" }, el("div", { class: "pair" }, first.node, second.node),
    el("div", { class: "line" }, shape.node, element.node, target.node, pressure.node), examples(page, CONVERSIONS), wrong.node, answer);

  function refresh(state) {
    others.note();
    if (state.text.trim() && state.second.trim()) asker.ask(question());
    else {
      asker.forget();
      answer.hidden = true;
      blame(null, fields, wrong);
    }
  }
  return { node, refresh };
}

// The rows of the plan without those of the other ways, which the table has. A row without a name goes on with the one before.
function withoutCandidates(rows) {
  let current = "";
  return rows.filter(([name]) => {
    current = name || current;
    return current !== "instead";
  });
}

// The candidates, cheapest first, with a bar for the price in issue slots.
function priced(all) {
  if (!all.length) return [];
  const most = Math.max(...all.map((one) => one.price || 0), 1);
  const rows = [...all].sort((a, b) => (a.price ?? Infinity) - (b.price ?? Infinity)).map((one) => {
    const bar = el("meter", { min: 0, max: most, value: one.price || 0, "aria-label": `price of ${one.name}` });
    return el("tr", { class: one.chosen ? "chosen" : null }, el("th", { scope: "row" }, one.name, one.chosen ? el("span", { class: "badge" }, "chosen") : null),
      el("td", { class: "price" }, one.price === null ? "" : [String(one.price), bar]), el("td", {}, one.work));
  });
  const head = ["way", "price", "work of a subgroup"].map((words) => el("th", { scope: "col" }, words));
  return [el("h2", {}, "The ways, and what they cost"), el("table", { class: "list" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows))];
}
