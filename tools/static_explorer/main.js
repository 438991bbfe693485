// The explorer without a server: the same page, answered by Python in a worker of the browser.

import { start } from "./explorer.js";
import { ask } from "./transport_worker.js";

start(document.getElementById("explorer"), ask);
