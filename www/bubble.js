// One message in the thread: text, state, reactions, and what can be done about it.

import { DeliveryStatus, isText } from "/dist/index.js";
import { make, setText, showItems } from "./dom.js";
import { clock, failureText } from "./format.js";
import { marksOf } from "./groups.js";
import { quoteOf, reactionsOf, textOf } from "./message.js";
import { attempt } from "./notice.js";

const EMOJI = ["👍", "❤️", "😂", "🎉"];

/** What arrow keys move through in a thread. */
export const STOPS = ".act, .reaction";

/** Makes bubbles of a person's thread; `compose(kind, message)` starts a reply or an edit. */
export function bubbles(person, compose) {
  // What a bubble shows now: the buttons in it act on that.
  const shown = new WeakMap();

  const create = () => {
    const bubble = make(
      "li",
      { class: "bubble" },
      make("p", { class: "sr-only sender" }),
      make("p", { class: "quote", dir: "auto" }),
      make("p", { class: "text", dir: "auto" }),
      make("ul", { class: "reactions" }),
      make("p", { class: "meta" }, make("span", { class: "mark" }), make("span", { class: "edited" }), make("time"), make("span", { class: "state" })),
    );
    const message = () => shown.get(bubble);
    const react = (emoji) => attempt(() => person.react(message(), emoji));
    const { opener, acts, close } = menuOf(bubble, {
      react,
      reply: () => compose("reply", message()),
      edit: () => compose("edit", message()),
      remove: () => attempt(() => person.remove(message())),
    });
    bubble.querySelector(".meta").append(opener);
    bubble.append(acts);
    bubble.querySelector(".reactions").addEventListener("click", ({ target }) => {
      const emoji = target.closest(".reaction")?.dataset.emoji;
      if (emoji) react(emoji);
    });
    bubble.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || acts.hidden) return;
      event.stopPropagation();
      close();
      opener.focus();
    });
    return bubble;
  };

  const update = (bubble, message) => {
    shown.set(bubble, message);
    fill(bubble, message, person);
  };
  return { create, update };
}

/** The button that opens what can be done about a message, and that. */
function menuOf(bubble, { react, reply, edit, remove }) {
  const opener = make("button", { class: "act icon", type: "button", "aria-expanded": "false", textContent: "☺" });
  const close = () => {
    acts.hidden = true;
    opener.setAttribute("aria-expanded", "false");
  };
  // The focus stays in the bubble, unless the act takes it elsewhere.
  const button = (properties, act) =>
    make("button", { type: "button", ...properties, onclick: () => {
      close();
      opener.focus();
      act();
    } });
  const acts = make(
    "div",
    { class: "acts", role: "group", "aria-label": "React or reply", hidden: true },
    ...EMOJI.map((emoji) => button({ class: "emoji icon", "data-emoji": emoji, "aria-label": `React with ${emoji}`, textContent: emoji }, () => react(emoji))),
    button({ class: "quiet", "data-act": "reply", textContent: "Reply" }, reply),
    button({ class: "quiet", "data-act": "edit", textContent: "Edit" }, edit),
    button({ class: "quiet", "data-act": "delete", textContent: "Delete" }, remove),
  );
  opener.addEventListener("click", () => {
    acts.hidden = !acts.hidden;
    opener.setAttribute("aria-expanded", String(!acts.hidden));
    if (acts.hidden) return;
    acts.scrollIntoView({ block: "nearest" });
    acts.querySelector("button").focus();
  });
  return { opener, acts, close };
}

function fill(bubble, message, person) {
  const find = (selector) => bubble.querySelector(selector);
  const own = message.senderInboxId === person.inboxId;
  const { text, name } = stateOf(message);
  const quote = quoteOf(message, person);
  bubble.classList.toggle("own", own);
  bubble.classList.toggle("deleted", message.isDeleted);
  bubble.dataset.state = own ? name : "received";
  setText(find(".sender"), person.callOf(message.senderInboxId));
  find(".quote").hidden = quote === undefined;
  setText(find(".quote"), quote ?? "");
  setText(find(".text"), textOf(message));
  setText(find(".edited"), message.editedAt && !message.isDeleted ? "Edited" : "");
  const time = find("time");
  time.dateTime = message.sentAt.toISOString();
  setText(time, clock(message.sentAt));
  setText(find(".state"), own ? text : "");
  const marks = marksOf(person.inspection);
  const mark = find(".mark");
  mark.hidden = marks.size < 2;
  mark.dataset.mark = marks.get(message.groupId) ?? "";
  setText(mark, mark.hidden ? "" : message.groupId.slice(0, 4));
  fillActs(bubble, message, person, own);
}

function fillActs(bubble, message, person, own) {
  const find = (selector) => bubble.querySelector(selector);
  const standing = message.isDeleted ? new Map() : reactionsOf(message);
  const open = person.mayWrite && !message.isDeleted && message.deliveryStatus !== DeliveryStatus.Failed;
  find(".act").hidden = !open;
  find(".act").setAttribute("aria-label", `React or reply to “${textOf(message).slice(0, 40)}”`);
  if (!open) find(".acts").hidden = true;
  find('[data-act="edit"]').hidden = !own || !isText(message);
  find('[data-act="delete"]').hidden = !own;
  for (const button of bubble.querySelectorAll(".emoji")) {
    button.setAttribute("aria-pressed", String(standing.get(button.dataset.emoji)?.has(person.inboxId) ?? false));
  }
  showItems(find(".reactions"), [...standing], {
    key: ([emoji]) => emoji,
    create: ([emoji]) => make("li", {}, make("button", { class: "reaction", type: "button", "data-emoji": emoji })),
    update: (item, [emoji, who]) => {
      const button = item.firstElementChild;
      button.disabled = !open;
      button.setAttribute("aria-pressed", String(who.has(person.inboxId)));
      button.setAttribute("aria-label", `${emoji} from ${[...who].map((inboxId) => person.callOf(inboxId)).join(" and ")}`);
      setText(button, who.size > 1 ? `${emoji} ${who.size}` : emoji);
    },
  });
}

function stateOf(message) {
  if (message.deliveryStatus === DeliveryStatus.Published) return { name: "sent", text: "Sent" };
  if (message.deliveryStatus === DeliveryStatus.Unpublished) return { name: "waiting", text: "Waiting" };
  return { name: "failed", text: `Not sent: ${failureText(message.failure)}` };
}
