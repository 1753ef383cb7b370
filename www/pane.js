// The pane of one person: header with the network switch, list, thread, inspector.

import { make, setText } from "./dom.js";
import { shortId } from "./format.js";
import { showInspector } from "./inspector.js";
import { showList } from "./list.js";
import { showMenu } from "./menu.js";
import { announce, attempt } from "./notice.js";
import { showThread } from "./thread.js";

const COPIED_MS = 1_500;

/** Builds the pane; it follows the person by itself. */
export function showPane(person, acts) {
  const pane = document.querySelector("#pane-template").content.firstElementChild.cloneNode(true);
  const find = (selector) => pane.querySelector(selector);
  pane.id = `pane-${person.key}`;
  pane.dataset.person = person.key;
  pane.setAttribute("aria-label", person.title);
  setText(find(".avatar"), person.name.charAt(0));
  setText(find(".who h2"), person.name);
  if (person.key !== person.wallet) find(".who h2").append(" ", make("small", { textContent: "second device" }));

  const online = find(".switch");
  online.setAttribute("aria-label", `${person.title} is online`);
  online.addEventListener("click", () => attempt(() => person.setOnline(!person.online)));

  const inbox = find(".inbox");
  inbox.addEventListener("click", () => attempt(() => copyInbox(person, inbox)));

  const { hasSecond } = showMenu(pane, person, acts);
  const list = showList(pane, person);
  const inspector = showInspector(pane, person);
  const thread = showThread(pane, person);

  const render = () => {
    pane.classList.toggle("offline", !person.online);
    pane.dataset.view = person.current ? "thread" : "list";
    online.setAttribute("aria-checked", String(person.online));
    setText(find(".switch-text"), person.online ? "Online" : "Offline");
    if (!inbox.dataset.copied) setText(inbox, `inbox ${shortId(person.inboxId)}`);
    inbox.setAttribute("aria-label", `Copy ${person.name}'s inbox id`);
    list.render();
    thread.render();
    inspector.render();
  };
  person.addEventListener("change", render);
  render();
  return { pane, inspector, hasSecond };
}

async function copyInbox(person, button) {
  await navigator.clipboard.writeText(person.inboxId);
  announce("Inbox id copied");
  button.dataset.copied = "yes";
  setText(button, "copied");
  setTimeout(() => {
    delete button.dataset.copied;
    setText(button, `inbox ${shortId(person.inboxId)}`);
  }, COPIED_MS);
}
