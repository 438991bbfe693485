// Algebra: an expression of CuTe's operations; its inputs and the result side by side, and the steps in words.

import { Asker, Export, TextBox, copyButton, filled } from "./controls.js";
import { el, replace } from "./dom.js";
import { OPERATIONS } from "./examples.js";
import { Picture } from "./picture.js";

export function algebraTab(page) {
  const expression = new TextBox(page, "expression", "An expression of CuTe's algebra", { placeholder: "logical_divide((8,8):(1,8), 4:2)" });
  const operations = el("div", { class: "examples", role: "group", "aria-label": "operations" },
    OPERATIONS.map(([name, example]) => el("button", { type: "button", class: "quiet", "data-operation": name, onclick: () => page.set({ expression: example }, true) }, name)));
  const question = () => filled({ kind: "algebra", expression: page.state.expression });
  const result = el("p", { class: "result", role: "status" });
  const inputs = el("div", { class: "inputs" });
  const outcome = new Picture("the result", false);
  const steps = el("ol", { class: "steps" });
  const save = new Export(page, question);
  const answer = el("div", { class: "answer wide", hidden: true }, result,
    el("div", { class: "sides" }, inputs, el("span", { class: "arrow", "aria-hidden": "true" }, "→"), el("section", {}, el("h2", {}, "Result"), outcome.node)),
    save.node, el("h2", {}, "Steps"), steps);
  const asker = new Asker(page, show, answer);

  function show(given) {
    expression.say(given.error || null);
    answer.classList.toggle("stale", Boolean(given.error));
    if (given.error) return;
    answer.hidden = false;
    replace(result, el("code", {}, given.result), copyButton(() => given.result),
      el("button", { type: "button", class: "quiet", onclick: () => page.set({ tab: "layout", text: given.result, shape: "", operand: "", colour: "" }, true) }, "open"));
    replace(inputs, (given.inputs || []).map((one, i) => {
      const picture = new Picture(`input ${i + 1}`, false);
      const section = el("section", {}, el("h2", {}, `Input ${i + 1}`), el("code", {}, one.text), picture.node);
      picture.show(one);
      return section;
    }));
    outcome.show(given);
    replace(steps, (given.steps || []).map((one) => el("li", {}, one)));
  }

  const node = el("div", { class: "stack" }, expression.node, operations, answer);
  function refresh(state) {
    if (state.expression.trim()) asker.ask(question());
    else {
      asker.forget();
      expression.say(null);
      answer.hidden = true;
    }
  }
  return { node, refresh };
}
