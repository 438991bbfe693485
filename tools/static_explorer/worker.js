// Python in a worker: Pyodide and layoutalg as files beside this one. A question comes as JSON, its answer goes back as JSON.

import { loadPyodide } from "./pyodide/pyodide.mjs";

const START = `
import json, sys
sys.path.insert(0, "/layoutalg.zip")
from layoutalg.explorer.answers import answer, failure

def answered(text):
    try:
        return json.dumps(answer(json.loads(text)))
    except (RecursionError, MemoryError):
        return json.dumps(failure("this is too large for the browser: run \`layoutalg serve\`"))
answered
`;

async function start() {
  const [python, reply] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }),
    fetch(new URL("layoutalg.zip", import.meta.url)),
  ]);
  if (!reply.ok) throw new Error(`layoutalg.zip: ${reply.status}`);
  python.FS.writeFile("/layoutalg.zip", new Uint8Array(await reply.arrayBuffer()));
  return python.runPython(START);
}

const started = start();

onmessage = async ({ data }) => {
  try {
    postMessage((await started)(data));
  } catch (error) {
    const line = String(error.message ?? error).trim().split("\n").pop();
    postMessage(JSON.stringify({ error: { message: line, field: "kind" } }));
  }
};
