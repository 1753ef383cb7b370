// Puts the page together: two people, their panes, the story.

import { make, setText } from "./dom.js";
import { textOf } from "./message.js";
import { announce, attempt, showError, showNotice } from "./notice.js";
import { showPane } from "./pane.js";
import { Person } from "./person.js";
import { eraseAll } from "./restart.js";
import { showStory } from "./story.js";
import { followOtherTabs } from "./wallet.js";

/** Opens both people and shows them; rejects when one cannot be opened. */
export async function startDemo() {
  const people = [new Person("ada", "Ada"), new Person("ben", "Ben")];
  [people[0].other, people[1].other] = [people[1], people[0]];
  // Offered before anything is opened: it is also the way out of a database that does not open.
  const restart = restartWith(people);
  await Promise.all(people.map((person) => person.open()));
  // Names need both inboxes: what was read before the other one was open is read again.
  await Promise.all(people.map((person) => person.refresh()));

  const panes = people.map((person) => showPane(person));
  document.querySelector("#panes").append(...panes.map(({ pane }) => pane));
  const tabs = showTabs(people);
  for (const person of people) {
    person.addEventListener("trouble", ({ detail }) => showError(detail));
    person.addEventListener("arrival", ({ detail }) => {
      tabs.arrived(person);
      announce(`${person.nameOf(detail.senderInboxId) ?? "Somebody"} to ${person.name}: ${textOf(detail)}`);
    });
  }
  followOtherTabs({
    onSwitch: (key) => attempt(() => people.find((person) => person.key === key).followSwitch()),
    onNewKey: () => location.reload(),
  });
  showStory(people, {
    restart,
    inspect: () => attempt(async () => {
      await Promise.all(people.map((person) => person.showWith(person.other.inboxId)));
      panes.forEach(({ inspector }, at) => inspector.setOpen(true, { focus: people[at].key === document.body.dataset.shown }));
    }),
  });
}

/** On narrow screens: whose side is shown. */
function showTabs(people) {
  const nav = document.querySelector("#people");
  const tabs = new Map(people.map((person) => [person, make("button", { type: "button" }, make("span", { textContent: person.name }), make("small"))]));
  const render = () => {
    for (const [person, tab] of tabs) {
      const shown = document.body.dataset.shown === person.key;
      tab.setAttribute("aria-pressed", String(shown));
      if (shown) tab.classList.remove("news");
      setText(tab.querySelector("small"), person.online ? "" : "offline");
    }
  };
  for (const [person, tab] of tabs) {
    tab.dataset.person = person.key;
    tab.addEventListener("click", () => {
      document.body.dataset.shown = person.key;
      render();
    });
    person.addEventListener("change", render);
  }
  nav.append(...tabs.values());
  nav.hidden = false;
  render();
  return { arrived: (person) => tabs.get(person).classList.toggle("news", document.body.dataset.shown !== person.key) };
}

/** Asks, then deletes everything and loads the page anew. */
function restartWith(people) {
  const button = document.querySelector("#restart");
  const dialog = document.querySelector("#restart-dialog");
  const ask = () => dialog.showModal();
  dialog.addEventListener("close", () => {
    if (dialog.returnValue !== "restart") return;
    dialog.returnValue = "";
    showNotice("Deleting…");
    attempt(async () => {
      await eraseAll(people);
      location.reload();
    });
  });
  button.addEventListener("click", ask);
  button.disabled = false;
  return ask;
}
