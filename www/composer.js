// Where a person writes. Enter sends, Shift+Enter breaks the line; a draft stays with its chat.

import { ConsentState } from "/dist/index.js";
import { setText } from "./dom.js";
import { textOf } from "./message.js";
import { attempt } from "./notice.js";

const MAX_ROWS = 6;

/** `bar` says what is answered or edited. */
export function showComposer(form, bar, person) {
  const input = form.querySelector("textarea");
  const button = form.querySelector("button");
  const drafts = new Map();
  let chat;
  /** `{ kind: "reply" | "edit", message }` while a message is answered or edited. */
  let about;
  /** What was written before an edit began. */
  let kept = "";

  const fit = () => {
    input.rows = Math.min(MAX_ROWS, input.value.split("\n").length);
    button.disabled = input.value.trim() === "";
  };
  const showAbout = () => {
    bar.hidden = !about;
    if (!about) return;
    const { kind, message } = about;
    setText(bar.querySelector("b"), kind === "edit" ? "Edit your message" : `Reply to ${person.callOf(message.senderInboxId)}`);
    setText(bar.querySelector("span"), textOf(message));
  };
  const leave = () => {
    if (about?.kind === "edit") input.value = kept;
    about = undefined;
    showAbout();
    fit();
  };
  const begin = (kind, message) => {
    leave();
    about = { kind, message };
    if (kind === "edit") {
      kept = input.value;
      input.value = textOf(message);
    }
    showAbout();
    fit();
    input.focus();
  };
  const submit = async () => {
    const text = input.value.trim();
    if (text === "") return;
    const asked = about;
    input.value = "";
    leave();
    try {
      await person.send(text, asked);
    } catch (error) {
      // What was written is not lost, unless something else was begun meanwhile.
      if (input.value === "" && !about) {
        input.value = text;
        about = asked;
        showAbout();
      }
      fit();
      throw error;
    }
  };

  input.addEventListener("input", fit);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && about) {
      event.stopPropagation();
      return leave();
    }
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    attempt(submit);
  });
  bar.querySelector("button").addEventListener("click", () => {
    leave();
    input.focus();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(submit);
    input.focus();
  });

  const render = (name) => {
    const { current } = person;
    const next = current.peer ?? current.id;
    if (next !== chat && current.peer) {
      leave();
      if (chat !== undefined) drafts.set(chat, input.value);
      input.value = drafts.get(next) ?? "";
      chat = next;
    }
    if (!person.mayWrite) leave();
    input.setAttribute("aria-label", `Message to ${name}`);
    input.placeholder = current.consent === ConsentState.Unknown ? "Reply to accept" : `Message ${name}`;
    fit();
  };
  return { render, begin };
}
