// Instructions: search all matrix instructions by words; a name opens its layout.

import { Asker, field } from "./controls.js";
import { el, replace } from "./dom.js";
import { QUERIES } from "./examples.js";
import { examples } from "./layout_tab.js";

export function instructionsTab(page) {
  const query = field(page, "query", "Search by chip, name, shape or type", { type: "search", placeholder: "gfx942 f16" });
  const count = el("p", { class: "count", role: "status" });
  const list = el("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "instructions found" });
  const asker = new Asker(page, show, list);

  function show(given) {
    if (given.error) {
      count.textContent = given.error.message;
      replace(list);
      return;
    }
    const words = `${given.rows.length}${given.more ? ` of ${given.rows.length + given.more}` : ""}`;
    count.textContent = given.rows.length === 1 ? "1 instruction" : `${words} instructions`;
    const rows = given.rows.map((one) => el("tr", {},
      el("th", { scope: "row" }, el("button", { type: "button", class: "name", onclick: () => page.set({ tab: "layout", text: one.name, shape: "", operand: "", colour: "" }, true) }, one.name)),
      el("td", {}, (one.shape || []).join("x")), el("td", {}, one.family), el("td", {}, Object.entries(one.types || {}).map(([operand, type]) => `${operand} ${type}`).join(", ")),
      el("td", {}, one.threads), el("td", {}, (one.chips || []).join(", ")), el("td", { class: "source" }, sourcesOf(one)),
    ));
    const head = ["name", "shape", "family", "types", "lanes", "chips", "source"].map((one) => el("th", { scope: "col" }, one));
    replace(list, rows.length ? el("table", { class: "list" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)) : null);
  }

  const node = el("div", { class: "stack" }, query.node, examples(page, QUERIES.map((one) => [one, { query: one }])), count, list);
  return { node, refresh: (state) => asker.ask({ kind: "instructions", query: state.query }) };
}

function sourcesOf({ sources = {} }) {
  return [...new Set(Object.values(sources).map((one) => one.source))].join(", ");
}
