// The server's transport: one question, one POST to the server that sent the page.
//
// The address that `layoutalg serve` prints has the token behind `#`. It is taken from there at once, so that no link has it, and kept
// for this server's other tabs: what is stored belongs to this host and port alone.

const KEPT = "layoutalg-token";

export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has("token")) return;
  try {
    localStorage.setItem(KEPT, given.get("token"));
  } catch {
    kept = given.get("token"); // storage is switched off
  }
  given.delete("token");
  history.replaceState(null, "", `#${given}`);
}

let kept = "";
function token() {
  try {
    return localStorage.getItem(KEPT) || kept;
  } catch {
    return kept;
  }
}

export async function ask(question, signal) {
  let reply;
  try {
    reply = await fetch("ask", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Layoutalg-Token": token() },
      body: JSON.stringify(question),
      signal,
    });
    if (reply.ok) return await reply.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return refused("the server does not answer: is `layoutalg serve` still running?");
  }
  if (reply.status === 403) return refused("this server does not know the page: open the address that `layoutalg serve` prints");
  if (reply.status === 413) return refused("the text is too long: at most 1 MB is read");
  if (reply.status === 503) return refused("the server is busy: try again in a moment");
  return refused(`the server answered ${reply.status}`);
}

function refused(message) {
  return { error: { message, field: "kind" } };
}
