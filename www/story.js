// "See it stitch": three steps, told from what is true and not from what was clicked.

import { setText } from "./dom.js";
import { winnerOf } from "./groups.js";
import { attempt } from "./notice.js";

const STEPS = ["offline", "write", "online"];
const TEXTS = { ada: "Ben, lunch at noon?", ben: "Ada, are you free for lunch?" };

export function showStory(people, { restart, inspect }) {
  const section = document.querySelector("#story");
  const item = (step) => section.querySelector(`[data-step="${step}"]`);
  const outcome = section.querySelector(".outcome");
  const [ada, ben] = people;
  let busy = false;
  let answer = () => {};

  const acts = {
    offline: () => Promise.all(people.map((person) => person.setOnline(false))),
    write: () => Promise.all(people.map((person) => person.sendTo(person.other.inboxId, TEXTS[person.key]))),
    online: () => Promise.all(people.map((person) => person.setOnline(true))),
  };
  const run = (step) =>
    attempt(async () => {
      busy = true;
      render();
      try {
        await acts[step]();
      } finally {
        busy = false;
        render();
        // The next button takes the place of the one that was used.
        section.querySelector("button:not([disabled])")?.focus();
      }
    });

  const render = () => {
    const phase = phaseOf(ada, ben);
    section.dataset.phase = phase;
    section.setAttribute("aria-busy", String(busy));
    const now = STEPS.indexOf(phase);
    STEPS.forEach((step, at) => {
      const element = item(step);
      const done = phase === "done" || (now >= 0 && at < now);
      element.classList.toggle("done", done);
      if (at === now) element.setAttribute("aria-current", "step");
      else element.removeAttribute("aria-current");
      element.querySelector("button").disabled = at !== now || busy;
    });
    section.querySelector("ol").hidden = phase === "met";
    outcome.hidden = now >= 0;
    if (now >= 0) return;
    const [text, label, act] = phase === "met" ? told(restart) : ending(ada, ben, inspect);
    setText(outcome.querySelector("p"), text);
    setText(outcome.querySelector("button"), label);
    answer = act;
  };

  for (const step of STEPS) item(step).querySelector("button").addEventListener("click", () => run(step));
  outcome.querySelector("button").addEventListener("click", () => answer());
  for (const person of people) person.addEventListener("change", render);
  section.hidden = false;
  render();
}

/** The step that comes next; "done" when both sides see the groups of both, "met" when one came first. */
function phaseOf(ada, ben) {
  const people = [ada, ben];
  if (people.every((person) => person.sharedInspection?.groups.length > 1)) return "done";
  const rows = people.map((person) => person.shared);
  if (rows.every((row) => row)) return rows[0].id === rows[1].id ? "met" : "online";
  return people.every((person) => !person.online) ? "write" : "offline";
}

const told = (restart) => [
  "Ada and Ben share a chat already, so nobody creates a second group any more. Start over to see two groups stitched.",
  "Start over",
  restart,
];

function ending(ada, ben, inspect) {
  const [one, two] = [ada, ben].map((person) => winnerOf(person.sharedInspection).groupId);
  const agree = one === two ? `both sides chose ${one.slice(0, 4)} as the winner` : "both sides choose the winner once they saw all messages";
  return [`One conversation on each side. Two groups are behind it, and ${agree}.`, "Look inside", inspect];
}
