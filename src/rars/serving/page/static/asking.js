// Requests to this server: with the key, if there is one; what goes wrong is an Error with one sentence.
import { key } from "./kept.js";

export async function ask(url, options = {}) {
  const headers = { ...(options.headers ?? {}) };
  if (key()) headers.Authorization = `Bearer ${key()}`;
  let answer;
  try {
    answer = await fetch(url, { ...options, headers, credentials: "omit" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer.");
  }
  return answer;
}

export async function json(url, body, options = {}) {
  const sent = body === undefined ? options : {
    ...options,
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  const answer = await ask(url, sent);
  const said = await answer.json().catch(() => null);
  if (!answer.ok) {
    const error = new Error(said?.error?.message ?? `The server answered ${answer.status}.`);
    error.status = answer.status;
    error.after = Number(answer.headers.get("Retry-After")) || 1;
    throw error;
  }
  return said;
}
