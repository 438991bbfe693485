// The page as `layoutalg serve` sends it: the explorer with the server's transport.

import { start } from "./explorer.js";
import { ask, takeToken } from "./transport_fetch.js";

takeToken();
window.addEventListener("hashchange", takeToken, true); // the address of a new server, opened in this tab
start(document.getElementById("explorer"), ask);
