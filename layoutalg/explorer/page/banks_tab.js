// Banks: how often the lanes of a subgroup meet in a bank of shared memory.

import { Asker, Export, TextBox, blame, field, filled, suggested } from "./controls.js";
import { el, replace } from "./dom.js";
import { ACCESSES, ELEMENTS } from "./examples.js";
import { examples } from "./layout_tab.js";
import { Picture } from "./picture.js";

export function banksTab(page) {
  const memory = new TextBox(page, "memory", "Where elements are in shared memory", { placeholder: "row-major, or Sw<3,3,3> o 0 o (16,64):(64,1)" });
  const access = new TextBox(page, "access", "Who reads or writes them", { placeholder: "d0 = 32@lane, d1 = 32@reg, or an instruction such as ldmatrix.x4" });
  const element = suggested(page, "element", "Element", ELEMENTS, { class: "short" });
  const shape = field(page, "shape", "Shape", { placeholder: "their own, or such as 32x32", class: "short" });
  const fields = { memory, shape, element };
  const verdict = el("p", { class: "verdict", role: "status" });
  const report = el("div", { class: "report" });
  const picture = new Picture("the banks of the access", false);
  const question = () => filled({ kind: "banks", memory: page.state.memory, layout: page.state.access, shape: page.state.shape, element: page.state.element });
  const answer = el("div", { class: "answer wide", hidden: true }, verdict, report, picture.node, new Export(page, question).node);
  const asker = new Asker(page, show, answer);

  function show(given) {
    blame(given.error, fields, access);
    answer.classList.toggle("stale", Boolean(given.error));
    if (given.error) return;
    answer.hidden = false;
    const clash = given.conflicts > 1;
    verdict.className = `verdict ${clash ? "bad" : "good"}`;
    verdict.textContent = clash ? `${given.conflicts} lanes meet in one bank` : "no bank conflicts";
    replace(report, given.report.map(([, line]) => el("p", {}, line)));
    picture.show(given);
  }

  const node = el("div", { class: "stack" }, el("div", { class: "pair" }, memory.node, access.node),
    el("div", { class: "line" }, element.node, shape.node), examples(page, ACCESSES), answer);
  function refresh(state) {
    if (state.memory.trim() && state.access.trim()) asker.ask(question());
    else {
      asker.forget();
      blame(null, fields, access);
      answer.hidden = true;
    }
  }
  return { node, refresh };
}
