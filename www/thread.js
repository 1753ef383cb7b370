// The open conversation: bubbles with their state, what to decide about it, the composer.

import { ConsentState } from "/dist/index.js";
import { STOPS, bubbles } from "./bubble.js";
import { showComposer } from "./composer.js";
import { make, moveWithArrows, setText, showItems } from "./dom.js";
import { day, dayKey, shortId } from "./format.js";
import { attempt } from "./notice.js";

/** Pixels from the end that still count as being there. */
const NEAR_END = 40;

export function showThread(pane, person) {
  const thread = pane.querySelector(".thread");
  const find = (selector) => thread.querySelector(selector);
  const log = find(".log");
  const composer = showComposer(find(".composer"), find(".about"), person);
  const bubble = bubbles(person, composer.begin);
  const settle = moveWithArrows(log, STOPS);
  let shown;
  let atEnd = true;

  // Who reads the end keeps seeing it: with new messages, an opened drawer, an on-screen keyboard.
  const stay = () => {
    if (atEnd) log.scrollTop = log.scrollHeight;
  };
  log.addEventListener("scroll", () => {
    atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
  });
  new ResizeObserver(stay).observe(log);

  find(".back").addEventListener("click", () => attempt(async () => {
    await person.show(undefined);
    pane.querySelector(".list .row, .list .new-chat").focus();
  }));
  const decide = (state) => () => attempt(() => person.decide(state));
  find('[data-decide="allow"]').addEventListener("click", decide(ConsentState.Allowed));
  find('[data-decide="deny"]').addEventListener("click", decide(ConsentState.Denied));
  find(".block").addEventListener("click", decide(ConsentState.Denied));

  const render = () => {
    const { current } = person;
    thread.classList.toggle("empty", !current);
    if (!current) {
      shown = undefined;
      setText(find(".nothing"), person.rows.length > 0 ? "Choose a chat, or start a new one." : `${person.name} has not written to anybody yet.`);
      return;
    }
    const peer = current.peer;
    const name = (peer && person.nameOf(peer)) ?? (peer ? shortId(peer) : "");
    if (shown !== (peer ?? current.id)) atEnd = true;
    shown = peer ?? current.id;
    log.setAttribute("aria-label", `Messages with ${name}`);
    setText(find(".with h3"), name);
    setText(find(".with p"), subtitle(person));
    renderConsent(find, current, name);
    showItems(log, entries(person), {
      key: (entry) => entry.key,
      create: ({ kind }) => (kind === "message" ? bubble.create() : make("li", { class: kind })),
      update: (element, entry) => (entry.kind === "message" ? bubble.update(element, entry.message) : updateEntry(element, entry, person)),
    });
    settle();
    composer.render(name);
    stay();
  };
  return { render };
}

function subtitle(person) {
  if (!person.current.id) return "Nothing is created until you write";
  const groups = person.inspection?.groups ?? [];
  if (groups.some((group) => group.isWinner && group.hold)) return "Waiting";
  return groups.length > 1 ? `${groups.length} groups, one conversation` : "End-to-end encrypted";
}

function renderConsent(find, current, name) {
  const { consent } = current;
  const unknown = consent === ConsentState.Unknown && current.id !== undefined;
  const denied = consent === ConsentState.Denied;
  find(".block").hidden = consent !== ConsentState.Allowed;
  find(".inspect").hidden = current.id === undefined;
  const bar = find(".decide");
  bar.hidden = !unknown && !denied;
  bar.setAttribute("aria-label", denied ? "Blocked" : "Request");
  setText(bar.querySelector("p"), denied ? `You blocked ${name}.` : `${name} wants to chat with you.`);
  setText(bar.querySelector('[data-decide="allow"]'), denied ? "Unblock" : "Accept");
  bar.querySelector('[data-decide="deny"]').hidden = denied;
  find(".composer").hidden = denied;
}

/** Messages with a separator before each day. */
function entries(person) {
  const list = [];
  if (person.hasEarlier) list.push({ kind: "earlier", key: "earlier" });
  let last;
  for (const message of person.messages) {
    const key = `day ${dayKey(message.sentAt)}`;
    if (key !== last) list.push({ kind: "day", key, text: day(message.sentAt) });
    last = key;
    list.push({ kind: "message", key: message.id, message });
  }
  return list;
}

function updateEntry(element, { kind, text }, person) {
  if (kind === "day") return setText(element, text);
  if (element.firstChild) return;
  const more = () => attempt(() => person.showEarlier());
  element.append(make("button", { class: "quiet", type: "button", textContent: "Show earlier messages", onclick: more }));
}
