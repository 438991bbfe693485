// The transport without a server: one question at a time goes to the worker, the others wait; what is aborted while it waits is
// never asked. A question that takes too long ends the worker, and the next one gets a new one.

const SECONDS = 30;
const START_SECONDS = 120; // the first answer waits for Python itself, which may come over a slow line

let worker = null;
let current = null;
const waiting = [];

export function ask(question, signal) {
  return new Promise((resolve, reject) => {
    const asked = { question, resolve };
    signal?.addEventListener("abort", () => {
      const at = waiting.indexOf(asked);
      if (at >= 0) waiting.splice(at, 1);
      reject(new DOMException("aborted", "AbortError"));
    });
    waiting.push(asked);
    next();
  });
}

function next() {
  if (current || !waiting.length) return;
  current = waiting.shift();
  const fresh = !worker;
  if (fresh) {
    worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.onmessage = ({ data }) => answered(JSON.parse(data));
    worker.onerror = (event) => ended(`Python did not start: ${event.message || "a file of the page is missing"}`);
  }
  const seconds = fresh ? START_SECONDS : SECONDS;
  current.timer = setTimeout(() => ended(`no answer within ${seconds} seconds: run \`layoutalg serve\``), seconds * 1000);
  worker.postMessage(JSON.stringify(current.question));
}

function answered(answer) {
  if (!current) return;
  clearTimeout(current.timer);
  current.resolve(answer);
  current = null;
  next();
}

function ended(message) {
  worker?.terminate();
  worker = null;
  answered({ error: { message, field: "kind" } });
}

// Python is there when the first question comes.
export const ready = ask({ kind: "owner", text: "d0 = 1@lane", at: [0] });
