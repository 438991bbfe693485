// The server's transport: one question, one POST. The page that the server sends carries the token in a <meta>, so that no link has it.

export async function ask(question, signal) {
  const token = document.querySelector("meta[name=layoutalg-token]");
  let reply;
  try {
    reply = await fetch("ask", {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Layoutalg-Token": token ? token.content : "" },
      body: JSON.stringify(question),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { error: { message: "the server does not answer: is `layoutalg serve` still running?" } };
  }
  try {
    return await reply.json();
  } catch {
    return { error: { message: `the server answered ${reply.status}` } };
  }
}
