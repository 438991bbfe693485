// Instructions: search all matrix instructions by words; a name opens its layout.

import { Asker, field } from "./controls.js";
import { el, framed, replace } from "./dom.js";
import { QUERIES } from "./examples.js";
import { examples } from "./layout_tab.js";

const COLUMNS = ["shape", "types", "threads", "chips", "source"];

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
    const words = given.more ? `the first ${given.rows.length} of ${given.rows.length + given.more}` : `${given.rows.length}`;
    count.textContent = given.rows.length === 1 ? "1 instruction" : `${words} instructions`;
    const rows = given.rows.map((one) => el("tr", {},
      el("th", { scope: "row" }, el("button", { type: "button", class: "name", onclick: () => page.set({ tab: "layout", text: one.name, shape: "", operand: "", colour: "" }, true) }, one.name)),
      COLUMNS.map((part) => el("td", { class: part }, one[part]))));
    const head = ["name", ...COLUMNS].map((one) => el("th", { scope: "col" }, one));
    replace(list, rows.length ? el("table", { class: "list" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)) : null);
  }

  const node = el("div", { class: "stack" }, query.node, examples(page, QUERIES.map((one) => [one, { query: one }])), count, framed(list));
  return { node, refresh: (state) => asker.ask({ kind: "instructions", query: state.query }) };
}
