// Puts the page together: two people, their devices and panes, the story.

import { SECOND, hasSecond, openSecond } from "./device.js";
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

  const tabs = showTabs();
  const place = document.querySelector("#panes");
  const show = (person, before) => {
    const shown = showPane(person, { addDevice });
    place.insertBefore(shown.pane, before);
    tabs.add(person, before?.dataset.person);
    document.body.dataset.panes = String(place.children.length);
    person.addEventListener("trouble", ({ detail }) => showError(detail));
    person.addEventListener("arrival", ({ detail }) => {
      tabs.arrived(person);
      // What both devices of a person get is told once.
      if (person.key === person.wallet) announce(`${person.nameOf(detail.senderInboxId) ?? "Somebody"} to ${person.name}: ${textOf(detail)}`);
    });
    return shown;
  };
  let second;
  const addSecond = async () => {
    const device = await openSecond(people[0]);
    people.push(device);
    show(device, panes[1].pane);
    panes[0].hasSecond();
    // The first device takes the new one into its chats, and hands over what was decided.
    attempt(async () => {
      await people[0].syncDevices();
      await device.syncDevices();
    });
  };
  const openOnce = () =>
    (second ??= addSecond().catch((error) => {
      second = undefined;
      throw error;
    }));
  const addDevice = async () => {
    await openOnce();
    tabs.choose(SECOND);
  };
  const panes = people.slice(0, 2).map((person) => show(person, null));
  if (hasSecond()) await openOnce();
  followOtherTabs({
    onSwitch: (key) => attempt(() => people.find((person) => person.key === key)?.followSwitch()),
    onDevice: () => attempt(openOnce),
    onNewKey: () => location.reload(),
  });
  showStory(people.slice(0, 2), {
    restart,
    inspect: () => attempt(async () => {
      await Promise.all(panes.map((_, at) => people[at].showWith(people[at].other.inboxId)));
      panes.forEach(({ inspector }, at) => inspector.setOpen(true, { focus: people[at].key === document.body.dataset.shown }));
    }),
  });
}

/** On narrow screens: whose side is shown. */
function showTabs() {
  const nav = document.querySelector("#people");
  const tabs = new Map();
  const render = () => {
    for (const [person, tab] of tabs) {
      const shown = document.body.dataset.shown === person.key;
      tab.setAttribute("aria-pressed", String(shown));
      if (shown) tab.classList.remove("news");
      const second = person.key === person.wallet ? "" : "2nd";
      setText(tab.querySelector("small"), [second, person.online ? "" : "offline"].filter(Boolean).join(", "));
    }
  };
  const choose = (key) => {
    document.body.dataset.shown = key;
    render();
  };
  /** Adds a person's tab, before the one of another. */
  const add = (person, before) => {
    const tab = make("button", { type: "button", "data-person": person.key }, make("span", { textContent: person.name }), make("small"));
    tab.addEventListener("click", () => choose(person.key));
    tabs.set(person, tab);
    person.addEventListener("change", render);
    nav.insertBefore(tab, before === undefined ? null : nav.querySelector(`[data-person="${before}"]`));
    nav.hidden = false;
    render();
  };
  return { add, choose, arrived: (person) => tabs.get(person).classList.toggle("news", document.body.dataset.shown !== person.key) };
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
