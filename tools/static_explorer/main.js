// The explorer without a server: the same page, answered by Python in a worker of the browser.

import { start } from "./explorer.js";
import { ask, ready } from "./transport_worker.js";

const note = document.createElement("p");
note.setAttribute("role", "status");
note.textContent = "Python is loading (13 MB, the first time only): answers come in some seconds.";
Object.assign(note.style, { margin: "0", padding: "0.5rem 1rem", textAlign: "center" });
document.body.prepend(note);
ready.finally(() => note.remove());

start(document.getElementById("explorer"), ask);
