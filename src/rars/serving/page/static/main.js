// The page with scripts: everything here adds to what the server renders.
import { after, go, page, say, settled } from "./going.js";
import { grading, remember } from "./grading.js";
import { key, read, write } from "./kept.js";
import { keys } from "./keys.js";
import { queries, redraw } from "./queries.js";
import { typing } from "./typing.js";

const ours = (link) => link.origin === location.origin && ["/", "/tree", "/why", "/compare"].includes(link.pathname);

function links() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (!ours(link) || link.hash) return;
    event.preventDefault();
    const hit = link.matches(".why") ? link.closest(".hit") : null;
    if (hit) why(hit);
    else go(link.href, { quiet: Boolean(link.closest(".tree, .facet, .active")) });
  });
  addEventListener("popstate", () => go(location.href, { past: true }));
}

// Why a result is here, below the result itself; once more, and it is closed.
function why(hit) {
  const shown = hit.querySelector("#why");
  if (shown) {
    shown.remove();
    return true;
  }
  page(hit.querySelector(".why").href).then((fresh) => {
    const told = fresh.getElementById("why") ?? fresh.querySelector(".notice");
    if (!told) throw new Error("Nothing is known about it.");
    document.getElementById("why")?.remove();
    told.id = "why";
    told.classList.add("why");
    if (told.querySelector(".headline")) told.querySelector("h1")?.remove();
    hit.append(document.adoptNode(told));
    say(told.querySelector(".headline, p").textContent);
  }).catch((error) => say(error.message));
  return true;
}

function theme() {
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    write("rars-theme", root.dataset.theme);
  });
}

function help() {
  const dialog = document.getElementById("help");
  const open = () => {
    dialog.showModal();
    return true;
  };
  document.getElementById("help-open").addEventListener("click", open);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  const name = document.getElementById("user");
  name.value = read("rars-user");
  name.addEventListener("change", () => {
    write("rars-user", name.value.trim());
    remember();
  });
  return open;
}

function unlocking() {
  document.addEventListener("submit", (event) => {
    if (event.target.id !== "key") return;
    event.preventDefault();
    write("rars-key", document.getElementById("key-text").value.trim(), sessionStorage);
    go(location.href, { replace: true });
  });
  if (document.getElementById("key") && key()) go(location.href, { replace: true });
}

function copying() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest(".copy");
    if (!button) return;
    await navigator.clipboard?.writeText(button.value).catch(() => {});
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), 1200);
  });
}

// The same item on both sides of a comparison.
function twins() {
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const hit = event.target.closest?.(".columns .hit");
      for (const one of document.querySelectorAll(".hit.twin")) one.classList.remove("twin");
      if (!hit) return;
      for (const one of document.querySelectorAll(".columns .hit")) {
        one.classList.toggle("twin", one.dataset.item === hit.dataset.item);
      }
    });
  }
}

// On a narrow screen results come first; facets are one tap away.
function fold() {
  if (!matchMedia("(max-width: 60rem)").matches) return;
  for (const one of document.querySelectorAll(".facet")) one.open = Boolean(one.querySelector("[aria-current]"));
}

queries();
links();
typing();
grading();
keys({ open: help(), why });
theme();
copying();
twins();
after(remember);
after(redraw);
after(fold);
settled();
unlocking();
document.documentElement.classList.add("ready");
