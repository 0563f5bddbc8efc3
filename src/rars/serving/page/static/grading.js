// Grades: a click writes a judgment through the API; the same grade once more withdraws it.
import { json } from "./asking.js";
import { say } from "./going.js";
import { user } from "./kept.js";

const NAMES = { E: "exact", S: "substitute", C: "complement", I: "irrelevant" };
const query = () => new URLSearchParams(location.search).get("q") ?? "";

export function grading() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".grades button");
    if (button) grade(button);
  });
}

export async function grade(button) {
  const group = button.closest(".grades");
  const label = button.getAttribute("aria-pressed") === "true" ? null : button.value;
  const place = new URLSearchParams(location.search);
  const judgment = { query: query(), item_id: group.dataset.item, label, user: user(), rank: Number(group.dataset.rank) };
  for (const name of ["locale", "system"]) if (place.get(name)) judgment[name] = place.get(name);
  try {
    await json("/v1/judgments", { judgments: [judgment] });
    group.classList.remove("failed");
    press(group, label);
    say(label ? `Graded ${NAMES[label]}.` : "Grade withdrawn.");
  } catch (error) {
    group.classList.add("failed");
    group.title = error.message;
    say(`Not kept: ${error.message}`);
  }
}

// The grades that this person gave before.
export async function remember() {
  const groups = [...document.querySelectorAll(".grades")];
  if (!groups.length || !query()) return;
  const asked = query();
  try {
    const url = `/v1/judgments?${new URLSearchParams({ query: asked, user: user() })}`;
    const { judgments } = await json(url);
    if (asked !== query()) return;
    const mine = new Map(judgments.filter((one) => one.user === user()).map((one) => [one.item_id, one.label]));
    for (const group of groups) if (mine.has(group.dataset.item)) press(group, mine.get(group.dataset.item));
  } catch {
    // Without them the buttons are merely unpressed.
  }
}

function press(group, label) {
  for (const one of group.querySelectorAll("button")) one.setAttribute("aria-pressed", String(one.value === label));
}
