// A list of queries to step through, those first on which the two sides differ most. Of judged queries the
// difference is that of a measure; of any others, how few of the first items both sides share.
import { json } from "./asking.js";
import { go } from "./going.js";
import { address } from "./typing.js";

const AT_ONCE = 10;
const MOST = 2000;
const MEASURE = "nDCG@10";
let compared = [];
let running = null;
let loaded = null;

export function queries() {
  document.addEventListener("click", (event) => {
    if (event.target.id === "run") run();
    else if (event.target.id === "stop") running?.abort();
    const link = event.target.closest("#list a");
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    go(link.href, { quiet: true });
  }, true);
  document.addEventListener("change", (event) => {
    if (event.target.id === "file" && event.target.files[0]) load(event.target.files[0]);
    if (event.target.id === "split") loaded = null;
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = document.getElementById("drop");
      if (!zone || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) load(event.dataTransfer.files[0]);
    });
  }
}

// After every change of view the list is drawn again: it is this tab's, not the server's.
export function redraw() {
  if (!document.getElementById("list")) return;
  const split = document.getElementById("split");
  if (loaded && split) split.value = "";
  if (loaded) tell(`${loaded.name}: ${loaded.queries.length} queries.`);
  draw();
}

async function load(file) {
  try {
    const found = read(file.name, await file.text());
    if (!found.length) throw new Error("no query was found in it");
    loaded = { name: file.name, queries: found.slice(0, MOST) };
    const split = document.getElementById("split");
    if (split) split.value = "";
    compared = [];
    draw();
    tell(`${file.name}: ${loaded.queries.length} queries${found.length > MOST ? ` of ${found.length}` : ""}.`);
  } catch (error) {
    tell(`${file.name} cannot be used: ${error.message}.`);
  }
}

// One query a line; a table with a column text or query; JSON lines with one of these names.
export function read(name, text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).filter((line) => line.trim());
  const kind = name.toLowerCase().split(".").pop();
  if (kind === "jsonl" || kind === "json") {
    const rows = kind === "json" ? JSON.parse(text) : lines.map((line) => JSON.parse(line));
    return unique(rows.map((row) => (typeof row === "string" ? row : row.text ?? row.query)));
  }
  if (kind !== "csv" && kind !== "tsv") return unique(lines);
  const rows = lines.map((line) => cells(line, kind === "csv" ? "," : "\t"));
  const at = rows[0].findIndex((cell) => ["text", "query"].includes(cell.trim().toLowerCase()));
  if (at < 0) throw new Error("it has no column text or query");
  return unique(rows.slice(1).map((row) => row[at]));
}

function cells(line, between) {
  const found = [""];
  let quoted = false;
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === '"' && quoted && line[at + 1] === '"') found[found.length - 1] += line[++at];
    else if (sign === '"') quoted = !quoted;
    else if (sign === between && !quoted) found.push("");
    else found[found.length - 1] += sign;
  }
  return found;
}

const unique = (texts) => [...new Set(texts.filter((one) => typeof one === "string").map((one) => one.trim()))].filter(Boolean);

async function run() {
  running?.abort();
  const mine = (running = new AbortController());
  show(true);
  compared = [];
  draw();
  try {
    const asked = await wanted(mine.signal);
    const [left, right] = sides();
    for (let start = 0; start < asked.length; start += AT_ONCE) {
      const part = asked.slice(start, start + AT_ONCE);
      const answers = await Promise.all([left, right].map((side) => batch(part, side, mine.signal)));
      part.forEach((one, at) => {
        const difference = differs(one, answers[0][at], answers[1][at]);
        if (difference) compared.push(difference);
      });
      progress(Math.min(start + AT_ONCE, asked.length), asked.length);
      draw();
    }
    tell(summary(asked.length));
  } catch (error) {
    tell(error.name === "AbortError" ? summary(compared.length) : error.message);
  } finally {
    if (running === mine) show(false);
  }
}

async function wanted(signal) {
  const split = document.getElementById("split")?.value;
  if (!split) {
    if (!loaded) throw new Error("Choose a file of queries first.");
    return loaded.queries.map((text) => ({ text }));
  }
  const system = new URLSearchParams(location.search).get("system");
  const asked = new URLSearchParams({ split, limit: 1000, ...(system ? { system } : {}) });
  const { queries: found } = await json(`/v1/queries?${asked}`, undefined, { signal });
  return found;
}

function sides() {
  const said = new FormData(document.getElementById("search"));
  return ["", "other_"].map((start) => {
    const side = {};
    for (const name of ["system", "rule", "version"]) if (said.get(start + name)) side[name] = said.get(start + name);
    return side;
  });
}

// Searches that the server had no time for are asked again, a few times.
async function batch(part, side, signal) {
  let answers = await once(part, side, signal);
  for (let again = 0; again < 5; again++) {
    const late = answers.flatMap((one, at) => (one.status === 429 ? [at] : []));
    if (!late.length) break;
    await pause(1);
    const more = await once(late.map((at) => part[at]), side, signal);
    answers = answers.map((one, at) => (late.includes(at) ? more[late.indexOf(at)] : one));
  }
  return answers;
}

const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

async function once(part, side, signal) {
  const said = new FormData(document.getElementById("search"));
  const shared = { ...side, k: 10, judged: true, ...(said.get("filter") ? { filter: said.get("filter") } : {}) };
  const body = { queries: part.map((one) => ({ ...shared, query: one.text })) };
  for (let again = 0; ; again++) {
    try {
      return (await json("/v1/search/batch", body, { signal })).results;
    } catch (error) {
      if (error.status !== 429 || again === 5) throw error;
      await pause(error.after);
    }
  }
}

function differs(one, left, right) {
  if (!left.result || !right.result) return { text: one.text, problem: (left.error ?? right.error).message, size: -1 };
  const ids = [left, right].map((side) => side.result.hits.map((hit) => hit.item_id));
  const shared = ids[0].filter((id) => ids[1].includes(id)).length;
  const apart = 1 - shared / Math.max(ids[0].length, ids[1].length, 1);
  const moved = ids[0].some((id, rank) => ids[1][rank] !== id);
  const before = left.result.measures?.[MEASURE];
  const now = right.result.measures?.[MEASURE];
  const measured = before === undefined || now === undefined ? null : now - before;
  return { text: one.text, apart, moved, measured, size: measured === null ? apart : Math.abs(measured) + apart / 1000 };
}

function draw() {
  const list = document.getElementById("list");
  if (!list) return;
  const now = new URLSearchParams(location.search).get("q");
  const sorted = [...compared].sort((one, two) => two.size - one.size);
  list.replaceChildren(...sorted.map((one) => {
    const link = document.createElement("a");
    const place = new URL(address(), location.href);
    place.searchParams.set("q", one.text);
    link.href = place.pathname + place.search;
    if (one.text === now) link.setAttribute("aria-current", "true");
    const text = Object.assign(document.createElement("span"), { textContent: one.text, dir: "auto" });
    const size = Object.assign(document.createElement("span"), { className: "size", textContent: worded(one) });
    if (one.measured) size.classList.add(one.measured > 0 ? "better" : "worse");
    link.append(text, size);
    const row = document.createElement("li");
    row.append(link);
    return row;
  }));
}

function worded(one) {
  if (one.problem) return "refused";
  if (one.measured !== null) return `${one.measured >= 0 ? "+" : "−"}${Math.abs(100 * one.measured).toFixed(1)}`;
  return one.moved ? `${Math.round(100 * one.apart)} % other` : "same";
}

function summary(asked) {
  const judged = compared.filter((one) => one.measured !== null && one.measured !== undefined);
  const better = judged.filter((one) => one.measured > 0).length;
  const worse = judged.filter((one) => one.measured < 0).length;
  const changed = compared.filter((one) => one.moved).length;
  const said = `${asked} queries; ${changed} differ in their first 10.`;
  return judged.length ? `${said} ${MEASURE}: ${better} better on the right, ${worse} worse.` : said;
}

function progress(done, of) {
  const bar = document.getElementById("progress");
  if (bar) bar.value = done / of;
  tell(`${done} of ${of}`);
}

function show(busy) {
  for (const [id, hidden] of [["stop", !busy], ["progress", !busy], ["run", busy]]) {
    const one = document.getElementById(id);
    if (one) one.hidden = hidden;
  }
}

function tell(text) {
  const told = document.getElementById("told");
  if (told) told.textContent = text;
}
