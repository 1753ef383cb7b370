// How a message reads: its text, what it answers, and who reacted to it.

import { ReactionAction, isReply } from "/dist/index.js";

/** The text of a message, or what stands for it. */
export function textOf(message) {
  if (message.isDeleted) return "Deleted";
  const content = isReply(message) ? message.content?.content : message.content;
  return typeof content === "string" ? content : (message.fallback ?? "This page cannot show this message.");
}

/** What stands above a reply; undefined for anything else. */
export function quoteOf(message, person) {
  if (message.isDeleted || !isReply(message)) return undefined;
  const { inReplyTo } = message;
  return inReplyTo ? `${person.callOf(inReplyTo.senderInboxId)}: ${textOf(inReplyTo)}` : "A message that is not here";
}

/** Emoji → ids of the inboxes whose reaction stands, in the order of the first. */
export function reactionsOf(message) {
  const standing = new Map();
  for (const { senderInboxId, content } of message.reactions) {
    if (!content?.content) continue;
    const who = standing.get(content.content) ?? new Set();
    if (content.action === ReactionAction.Removed) who.delete(senderInboxId);
    else who.add(senderInboxId);
    standing.set(content.content, who);
  }
  return new Map([...standing].filter(([, who]) => who.size > 0));
}
