// Where a person writes. Enter sends, Shift+Enter breaks the line; a draft stays with its chat.

import { ConsentState } from "/dist/index.js";
import { attempt } from "./notice.js";

const MAX_ROWS = 6;

export function showComposer(form, person) {
  const input = form.querySelector("textarea");
  const button = form.querySelector("button");
  const drafts = new Map();
  let chat;

  const fit = () => {
    input.rows = Math.min(MAX_ROWS, input.value.split("\n").length);
    button.disabled = input.value.trim() === "";
  };
  const submit = async () => {
    const text = input.value.trim();
    if (text === "") return;
    input.value = "";
    fit();
    try {
      await person.send(text);
    } catch (error) {
      // What was written is not lost, unless something else was begun meanwhile.
      if (input.value === "") input.value = text;
      fit();
      throw error;
    }
  };

  input.addEventListener("input", fit);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    attempt(submit);
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
      if (chat !== undefined) drafts.set(chat, input.value);
      input.value = drafts.get(next) ?? "";
      chat = next;
    }
    input.setAttribute("aria-label", `Message to ${name}`);
    input.placeholder = current.consent === ConsentState.Unknown ? "Reply to accept" : `Message ${name}`;
    fit();
  };
  return { render };
}
