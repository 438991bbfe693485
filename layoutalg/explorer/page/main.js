// The page as `layoutalg serve` sends it: the explorer with the server's transport.

import { start } from "./explorer.js";
import { ask } from "./transport_fetch.js";

start(document.getElementById("explorer"), ask);
