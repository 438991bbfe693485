// Compare: two texts, whether they spread a tensor alike, and where they first differ; the difference as a picture.

import { Asker, Export, TextBox, field, filled, shapeOfOthers } from "./controls.js";
import { el } from "./dom.js";
import { PAIRS } from "./examples.js";
import { examples } from "./layout_tab.js";
import { Picture } from "./picture.js";

const NAMES = ["First", "Second", "Difference"];

export function compareTab(page) {
  const first = new TextBox(page, "text", "First", { placeholder: "a layout of any notation" });
  const second = new TextBox(page, "second", "Second", { placeholder: "another, of any notation" });
  const shape = field(page, "shape", "Shape", { placeholder: "the first's own", class: "short" });
  const verdict = el("p", { class: "verdict", role: "status" });
  const pictures = NAMES.map((name) => new Picture(name, false));
  const question = () => filled({ kind: "same", first: page.state.text, second: page.state.second, shape: page.state.shape });
  const save = new Export(page, question);
  save.node.hidden = true;
  const answer = el("div", { class: "answer wide" }, verdict, el("div", { class: "compared" },
    [2, 0, 1].map((i) => el("section", { "aria-label": NAMES[i] }, el("h2", {}, NAMES[i]), pictures[i].node))), save.node);
  const asker = new Asker(page, show, answer);
  const others = shapeOfOthers(page);
  const both = () => Boolean(page.state.text.trim() && page.state.second.trim());
  const sides = [0, 1].map((i) => new Asker(page, (given) => {
    const said = given.error && given.error.field === "shape" && both(); // by the answer about both
    [first, second][i].say(said ? null : given.error || null);
    if (!given.error) pictures[i].show(given);
    outline();
  }));
  let differs = null;
  const outline = () => pictures.slice(0, 2).forEach((one) => one.outlineElements(differs ? [differs] : [], {
    dim: false, told: differs ? `outlined: element (${differs.join(", ")}), the first that differs` : "" }));

  function show(given, asked = {}) {
    if (others.goes(given.error, asked)) return;
    shape.say(given.error?.field === "shape" ? given.error : null);
    verdict.className = `verdict ${given.error ? "bad" : given.same ? "good" : "differs"}`;
    const said = ["shape", "first", "second"].includes(given.error?.field); // at the text or the field
    verdict.textContent = given.error ? (said ? "" : given.error.message) : given.sentence;
    answer.classList.toggle("stale", Boolean(given.error));
    save.node.hidden = Boolean(given.error) || !given.sentence;
    pictures[2].node.parentElement.hidden = !given.svg;
    pictures[2].show(given);
    differs = given.element || null;
    outline();
  }

  const node = el("div", { class: "stack" }, el("div", { class: "pair" }, first.node, second.node),
    el("div", { class: "line" }, shape.node), examples(page, PAIRS), answer);

  function refresh(state) {
    others.note();
    [state.text, state.second].forEach((text, i) => {
      if (text.trim()) sides[i].ask(filled({ kind: "layout", text, shape: state.shape, fits: page.fits }));
      else {
        sides[i].forget();
        pictures[i].clear();
        [first, second][i].say(null);
      }
    });
    answer.hidden = !state.text.trim() && !state.second.trim();
    if (both()) asker.ask(question());
    else {
      asker.forget();
      show({ sentence: "" });
      verdict.textContent = "";
    }
  }
  return { node, refresh };
}
