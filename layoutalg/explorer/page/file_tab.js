// File: the values of an MLIR module with their layouts, and what the verifiers and the checker find.

import { Asker, TextBox, filled, llvmChoice } from "./controls.js";
import { el, framed, replace } from "./dom.js";
import { FILE } from "./examples.js";
import { examples } from "./layout_tab.js";

export function fileTab(page) {
  const text = new TextBox(page, "file", "A module, a function or a part of a dump (paste, drop or open a file)", { placeholder: "func.func @f …", "data-tall": true });
  const llvm = llvmChoice(page);
  const open = el("input", { type: "file", accept: ".mlir,.ttgir,.ttir,.txt,.log", class: "unseen", tabindex: "-1", "aria-hidden": "true", onchange: async () => {
    const [file] = open.files;
    if (file) page.set({ file: await file.text() }, true);
    open.value = "";
  } });
  const findings = el("div", { class: "findings" });
  const values = el("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "values of the file" });
  const count = el("p", { class: "count", role: "status" });
  const verdict = el("p", { class: "verdict", role: "status" });
  const answer = el("div", { class: "answer", hidden: true }, verdict, count, findings, framed(values));
  const asker = new Asker(page, show, answer);

  function show(given) {
    text.say(given.error || null);
    answer.classList.toggle("stale", Boolean(given.error));
    if (given.error) return;
    answer.hidden = false;
    const functions = given.functions || [];
    const plural = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
    verdict.className = `verdict ${{ right: "good", wrong: "bad" }[given.verdict] || ""}`;
    verdict.textContent = given.unchecked || (given.verdict ? `The layouts are ${given.verdict}.` : "");
    count.textContent = [plural(functions.length, "function"), plural(given.values.length + (given.more || 0), "layout"), given.findings.length ? plural(given.findings.length, "finding") : "no findings"].join(", ");
    replace(findings, given.findings.length ? [el("h2", {}, "Findings"), el("ul", {}, given.findings.map((one) => el("li", { class: one.severity },
      one.line ? el("button", { type: "button", class: "place", "aria-label": `go to line ${one.line}`, onclick: () => go(one) }, `${one.line}:${one.column}`) : null,
      el("span", { class: "badge" }, one.severity), el("span", {}, one.message), one.why ? el("p", { class: "why" }, one.why) : null)))] : []);
    const rows = given.values.map((one) => el("tr", { class: one.refused ? "bad" : null }, el("th", { scope: "row" }, one.name), el("td", {}, [one.operation, one.operand].filter(Boolean).join(" ")), el("td", {}, one.type),
      el("td", {}, one.layout ? el("button", { type: "button", class: "name", onclick: () => page.set({ tab: "layout", text: one.layout, shape: (one.shape || []).join("x"), operand: "", colour: "" }, true) }, one.layout) : null), el("td", {}, one.meaning),
      el("td", {}, one.line ? el("button", { type: "button", class: "place", "aria-label": `go to line ${one.line}`, onclick: () => go({ line: one.line, column: 1 }) }, String(one.line)) : null)));
    const head = ["value", "where", "shape", "layout", "means", "line"].map((one) => el("th", { scope: "col" }, one));
    replace(values, rows.length ? [el("h2", {}, "Layouts"), el("table", { class: "list" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows))] : []);
  }

  function go({ line, column }) {
    const lines = text.box.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    text.box.focus();
    text.box.setSelectionRange(start + (column || 1) - 1, start + (lines[line - 1] || "").length);
    text.box.scrollTop = (text.box.scrollHeight / Math.max(lines.length, 1)) * Math.max(line - 4, 0);
  }

  const node = el("div", { class: "split even" }, el("div", { class: "asked" }, text.node,
    el("div", { class: "line" }, el("button", { type: "button", class: "quiet", onclick: () => open.click() }, "Open a file"), open, examples(page, [["a conversion", { file: FILE }]])), llvm.node), answer);
  function refresh(state) {
    if (state.file.trim()) asker.ask(filled({ kind: "file", text: state.file, llvm: Number(state.llvm) || null }));
    else {
      asker.forget();
      text.say(null);
      answer.hidden = true;
    }
  }
  return { node, refresh };
}
