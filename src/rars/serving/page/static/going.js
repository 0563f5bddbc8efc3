// From one address to another without loading the page anew: the server renders every view, and this puts
// the new one in place of the old. An answer that comes late is dropped.
import { ask } from "./asking.js";

const SWAPPED = ["views", "main"];
let latest = 0;
let running = new AbortController();
const listeners = [];

export const after = (listener) => listeners.push(listener);
export const settled = () => listeners.forEach((listener) => listener());

export async function page(url, signal) {
  const answer = await ask(url, { signal, headers: { Accept: "text/html" } });
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!parsed.getElementById("main")) throw new Error(`The server answered ${answer.status}.`);
  return parsed;
}

export async function go(url, { replace = false, past = false, quiet = false } = {}) {
  const turn = ++latest;
  running.abort();
  running = new AbortController();
  const main = document.getElementById("main");
  main.classList.add("busy");
  let fresh;
  try {
    fresh = await page(url, running.signal);
  } catch (error) {
    if (turn !== latest || error.name === "AbortError") return;
    main.classList.remove("busy");
    say(error.message);
    const note = Object.assign(document.createElement("p"), { className: "card notice bad", textContent: error.message });
    main.prepend(note);
    return;
  }
  if (turn !== latest) return;
  if (!past) history[replace ? "replaceState" : "pushState"](null, "", url);
  swap(fresh);
  if (!quiet && !past) scrollTo({ top: 0 });
  settled();
}

export function say(text) {
  document.getElementById("status").textContent = text;
}

function swap(fresh) {
  document.title = fresh.title;
  document.body.dataset.view = fresh.body.dataset.view;
  // A filter that is being written is often wrong for a moment: the last results stay until it is right.
  const unfinished = document.activeElement?.id === "filter" && fresh.querySelector("#filter[aria-invalid]");
  document.getElementById("main").classList.remove("busy");
  for (const id of unfinished ? ["views"] : SWAPPED) document.getElementById(id).replaceWith(document.adoptNode(fresh.getElementById(id)));
  const form = document.getElementById("search");
  const other = fresh.getElementById("search");
  form.action = other.getAttribute("action");
  const controls = form.querySelector(".controls");
  if (controls.contains(document.activeElement)) {
    // Somebody is typing there: only what is said of it changes.
    const mine = document.getElementById("filter");
    const problem = fresh.getElementById("filter-problem");
    mine.toggleAttribute("aria-invalid", fresh.getElementById("filter").hasAttribute("aria-invalid"));
    document.getElementById("filter-problem").replaceWith(document.adoptNode(problem));
  } else {
    controls.replaceWith(document.adoptNode(other.querySelector(".controls")));
  }
  const q = document.getElementById("q");
  if (document.activeElement !== q) q.value = fresh.getElementById("q").value;
  const summary = document.getElementById("summary");
  say(summary ? summary.textContent.replace(/\s+/g, " ").trim() : "");
}
