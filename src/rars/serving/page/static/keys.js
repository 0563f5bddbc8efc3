// The keyboard. What each key does stands in the help.
import { go } from "./going.js";
import { grade } from "./grading.js";

const ROWS = ".hit, .branch > a, .items a, #list a";
const seen = (one) => one.offsetParent !== null;

export function keys({ open, why }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const dialog = document.getElementById("help");
    if (dialog.open) return;
    const at = document.activeElement;
    const writes = at?.matches("input:not([type=checkbox]), select, textarea");
    const act = writes ? written(event, at) : read(event, at, { open, why });
    if (act) event.preventDefault();
  });
}

function written(event, at) {
  if (event.key === "Escape" && at.id !== "q") return focus("q");
  if (event.key === "Escape") {
    if (at.value) at.select();
    else at.blur();
    return true;
  }
  if (event.key === "ArrowDown" && at.matches("#q, #filter")) return step(null, 1);
  return false;
}

function read(event, at, { open, why }) {
  const row = at?.closest?.(ROWS);
  switch (event.key) {
    case "/": return focus("q");
    case "?": return open();
    case "ArrowDown": return step(row, 1);
    case "ArrowUp": return step(row, -1);
    case "ArrowRight": return across(row, 1);
    case "ArrowLeft": return across(row, -1);
    case "Escape": {
      const shown = row?.querySelector?.("#why");
      if (shown) shown.remove();
      else focus("q");
      return true;
    }
    case "Enter": return row?.matches(".hit") && at === row && why(row);
  }
  const button = row?.querySelector?.(`.grades button[value="${CSS.escape(event.key.toUpperCase())}"]`);
  if (button && !event.repeat) grade(button);
  return Boolean(button);
}

function focus(id) {
  const box = document.getElementById(id);
  box.focus();
  box.select?.();
  return true;
}

// To the next or previous row; in a column of the tree or of a comparison, within it.
function step(row, by) {
  const within = row?.closest(".column, .columns > section, #list") ?? document.getElementById("main");
  const rows = [...within.querySelectorAll(ROWS)].filter(seen);
  if (!rows.length) return false;
  const at = row ? rows.indexOf(row) + by : 0;
  if (at < 0) return focus("q");
  const next = rows[Math.min(at, rows.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

// Down and up the tree; from one side of a comparison to the other.
function across(row, by) {
  const branch = row?.closest(".branch, .items");
  if (branch) {
    const columns = [...document.querySelectorAll(".column")];
    const at = columns.indexOf(row.closest(".column"));
    if (by < 0) {
      const before = columns[at - 1]?.querySelector(".followed > a") ?? null;
      before?.focus();
      return Boolean(before);
    }
    if (row.getAttribute("aria-current") === "true" && columns[at + 1]) {
      columns[at + 1].querySelector(ROWS)?.focus();
    } else {
      go(row.href).then(() => [...document.querySelectorAll(".column")][at + 1]?.querySelector(ROWS)?.focus());
    }
    return true;
  }
  const side = row?.closest(".columns > section");
  if (!side) return false;
  const sides = [...side.parentElement.children];
  const other = sides[sides.indexOf(side) + by];
  const rank = [...side.querySelectorAll(".hit")].indexOf(row);
  const rows = other ? [...other.querySelectorAll(".hit")] : [];
  rows[Math.min(rank, rows.length - 1)]?.focus();
  return rows.length > 0;
}
