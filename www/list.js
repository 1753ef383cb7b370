// The conversation list: requests apart from chats, blocked ones folded away, and "New chat".

import { ConsentState } from "/dist/index.js";
import { make, moveWithArrows, setText, showItems } from "./dom.js";
import { errorText, shortId, when } from "./format.js";
import { textOf } from "./message.js";
import { attempt } from "./notice.js";

const SECTIONS = { requests: ConsentState.Unknown, chats: ConsentState.Allowed, blocked: ConsentState.Denied };
const INBOX_ID = /^[0-9a-f]{64}$/i;

export function showList(pane, person) {
  const nav = pane.querySelector(".list");
  nav.setAttribute("aria-label", `${person.name}'s conversations`);
  newChatForm(pane, person);
  const settle = moveWithArrows(nav, ".row");

  const showSection = ([name, consent]) => {
    const section = nav.querySelector(`[data-section="${name}"]`);
    const rows = person.rows.filter((row) => row.consent === consent);
    section.hidden = rows.length === 0 && name !== "chats";
    const count = section.querySelector(".count");
    if (count) setText(count, String(rows.length));
    const none = section.querySelector(".none");
    if (none) none.hidden = rows.length > 0;
    showItems(section.querySelector("ul"), rows, {
      key: (row) => row.id,
      create: () => createRow(person),
      update: (element, row) => updateRow(element, row, person),
    });
  };

  const render = () => {
    Object.entries(SECTIONS).forEach(showSection);
    settle();
  };
  return { render };
}

function createRow(person) {
  const button = make(
    "button",
    { class: "row", type: "button", onclick: () => attempt(() => person.show(item.dataset.key)) },
    make("span", { class: "row-name" }),
    make("span", { class: "row-time" }),
    make("span", { class: "row-last" }),
  );
  const item = make("li", {}, button);
  return item;
}

function updateRow(element, row, person) {
  const button = element.firstElementChild;
  const unread = person.unread.has(row.id) && row.consent !== ConsentState.Denied;
  button.classList.toggle("unread", unread);
  if (row.id === person.current?.id) button.setAttribute("aria-current", "true");
  else button.removeAttribute("aria-current");
  setText(button.querySelector(".row-name"), person.nameOf(row.peer) ?? (row.peer ? shortId(row.peer) : "Group"));
  setText(button.querySelector(".row-time"), row.last ? when(row.last.sentAt) : "");
  setText(button.querySelector(".row-last"), preview(row.last, person));
}

function preview(message, person) {
  if (!message) return "No messages yet";
  const text = textOf(message);
  return message.senderInboxId === person.inboxId ? `You: ${text}` : text;
}

/** Typing or pasting here looks nothing up and creates nothing; "Start" opens a draft. */
function newChatForm(pane, person) {
  const opener = pane.querySelector(".new-chat");
  const form = pane.querySelector(".new-form");
  const input = form.elements.peer;
  const hint = form.querySelector(".hint");

  const describe = () => {
    const peer = input.value.trim();
    const name = person.nameOf(peer.toLowerCase());
    form.classList.remove("wrong");
    if (peer === "") return setText(hint, "Paste an inbox id: 64 hexadecimal digits.");
    if (!INBOX_ID.test(peer)) return setText(hint, `${peer.length} characters; an inbox id has 64 hexadecimal digits.`);
    if (name === person.name) return setText(hint, "This is your own inbox.");
    setText(hint, name ? `This is ${name}.` : "Nobody on this page.");
  };
  const open = () => {
    if (!input.value) input.value = person.other.inboxId;
    opener.setAttribute("aria-expanded", "true");
    form.hidden = false;
    describe();
    input.focus();
    input.select();
  };
  const close = () => {
    opener.setAttribute("aria-expanded", "false");
    form.hidden = true;
    input.value = "";
  };
  const start = async () => {
    const peer = input.value.trim().toLowerCase();
    try {
      if (person.nameOf(peer) === person.name) throw new Error("A chat needs somebody else: this is your own inbox.");
      await person.showWith(peer);
    } catch (error) {
      form.classList.add("wrong");
      setText(hint, errorText(error));
      return input.focus();
    }
    close();
    pane.querySelector(".composer textarea").focus();
  };

  opener.addEventListener("click", () => (form.hidden ? open() : close()));
  input.addEventListener("input", describe);
  form.querySelector("button.quiet").addEventListener("click", () => {
    close();
    opener.focus();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    close();
    opener.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(start);
  });
}
