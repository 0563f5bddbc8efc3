// Search as you type: the address follows what stands in the form, a moment after the last key.
import { go } from "./going.js";

const PAUSE = 140;
const SETTLED = 1500;
let timer = 0;
let last = -SETTLED;

export function address(form = document.getElementById("search")) {
  const said = new URLSearchParams();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string" && value.trim() && !(name === "k" && value === "20")) said.set(name, value.trim());
  }
  const text = said.toString();
  const path = new URL(form.action, location.href).pathname;
  return text ? `${path}?${text}` : path;
}

export function typing() {
  document.addEventListener("input", (event) => {
    if (event.isComposing || !event.target.matches("#q, #filter")) return;
    clearTimeout(timer);
    timer = setTimeout(() => search(true), PAUSE);
  });
  // A word put together from several keys, as in Japanese, is searched for when it is whole.
  document.addEventListener("compositionend", (event) => {
    if (!event.target.matches("#q, #filter")) return;
    clearTimeout(timer);
    timer = setTimeout(() => search(true), PAUSE);
  });
  document.addEventListener("change", (event) => {
    if (!event.target.closest("#search .controls") || event.target.id === "filter") return;
    if (event.target.matches("[data-reload]")) location.assign(address(forgetting(event.target)));
    else search(false);
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "search" && !event.target.matches("form.missing")) return;
    event.preventDefault();
    clearTimeout(timer);
    go(address(event.target));
  });
}

// Another system has other rules and versions.
function forgetting(select) {
  const form = select.form;
  const start = select.name.startsWith("other_") ? "other_" : "";
  for (const name of ["rule", "version"]) {
    const other = form.elements[start + name];
    if (other) other.value = "";
  }
  return form;
}

function search(typed) {
  const url = address();
  if (url === location.pathname + location.search) return;
  const now = performance.now();
  // What was typed in one go is one step back.
  go(url, { replace: typed && now - last < SETTLED, quiet: true });
  if (typed) last = now;
}
