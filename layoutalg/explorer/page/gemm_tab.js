// GEMM: how the planner tiles C = A B for a chip, what a step loads and computes, and the tilings that lost.

import { Asker, Export, Wrong, blame, field, filled, suggested } from "./controls.js";
import { el, framed, replace, rowsTable } from "./dom.js";
import { ELEMENTS, PRODUCTS } from "./examples.js";
import { examples } from "./layout_tab.js";
import { Picture } from "./picture.js";

export function gemmTab(page) {
  const sizes = ["m", "n", "k"].map((name) => field(page, name, name.toUpperCase(), { inputmode: "numeric", placeholder: "4096" }));
  const types = ["a", "b", "c"].map((name) => suggested(page, name, `${name.toUpperCase()}'s elements`, ELEMENTS, { placeholder: "the usual" }));
  const chip = suggested(page, "chip", "Chip", page.choices.then(({ planned }) => planned));
  const question = () => {
    const { a, b, c, chip: target, ...state } = page.state;
    const whole = (text) => (/^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : text); // longer ones would be rounded
    return filled({ kind: "gemm", m: whole(state.m), n: whole(state.n), k: whole(state.k), a, b, c, target });
  };
  const wrong = new Wrong();
  const fields = { m: sizes[0], n: sizes[1], k: sizes[2] }; // what is wrong with the types or the chip may be of all
  const title = el("p", { class: "unseen", role: "status" });
  const picture = new Picture("picture of the plan", false);
  const tables = el("div", { class: "report tables" });
  const others = el("div", { class: "scrolled whole", tabindex: "0", role: "region", "aria-label": "the tilings that lost" });
  const answer = el("div", { class: "answer wide", hidden: true }, title, el("div", { class: "beside" },
    el("div", { class: "stack" }, picture.node, new Export(page, question).node), el("div", { class: "stack" }, tables, framed(others))));
  const asker = new Asker(page, show, answer);

  function show(given) {
    blame(given.error, fields, wrong);
    answer.classList.toggle("stale", Boolean(given.error));
    if (given.error) return;
    answer.hidden = false;
    replace(title, el("code", {}, given.title));
    picture.show(given);
    replace(tables, el("h2", {}, "The plan"), given.tables.map(table));
    replace(others, el("h2", {}, "The tilings that lost"), given.candidates.length ? el("table", { class: "list" },
      el("thead", {}, el("tr", {}, ["tiling", "why not"].map((one) => el("th", { scope: "col" }, one)))),
      el("tbody", {}, given.candidates.map((one) => cells([one.tiling, one.why])))) : el("p", {}, "no other tiling fits"));
  }

  const node = el("div", { class: "stack" }, el("div", { class: "numbers" }, [...sizes, ...types, chip].map((one) => one.node)),
    examples(page, PRODUCTS), wrong.node, answer);
  function refresh(state) {
    if (state.m.trim() && state.n.trim() && state.k.trim()) asker.ask(question());
    else {
      asker.forget();
      blame(null, fields, wrong);
      answer.hidden = true;
    }
  }
  return { node, refresh };
}

// Pairs are a report, which a phone folds; more columns scroll.
function table(rows) {
  if (rows.every((one) => one.length < 3)) return rowsTable(rows, rows[0][0]);
  const made = el("table", { class: "list" }, el("tbody", {}, rows.map(cells)));
  return framed(el("div", { class: "scrolled whole", tabindex: "0", role: "region", "aria-label": rows[0][0] }, made));
}

// A row of a table: its first cell is its name.
function cells([name, ...texts]) {
  return el("tr", {}, el("th", { scope: "row" }, name), texts.map((one) => el("td", {}, one)));
}
