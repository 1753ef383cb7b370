// The drawer that shows the physical groups behind the open conversation.

import { ConsentState } from "/dist/index.js";
import { make, setText, showItems } from "./dom.js";
import { moment, sentence, shortId } from "./format.js";
import { marksOf, whyWinner, winnerOf, winnerRules } from "./groups.js";
import { databaseOf } from "./person.js";

const CONSENT = new Map([
  [ConsentState.Unknown, "Unknown"],
  [ConsentState.Allowed, "Allowed"],
  [ConsentState.Denied, "Denied"],
]);
const NONE = "–";

/** The rows of the table: a name, and how it reads for a group. */
const FACTS = [
  ["Created by", (group, person) => person.nameOf(group.creatorInboxId) ?? shortId(group.creatorInboxId)],
  ["Last activity", (group) => (group.lastMessageNs === undefined ? NONE : moment(group.lastMessageNs))],
  ["Epoch", (group) => (group.epochAuthenticator === "" ? NONE : String(group.epoch))],
  // Equal on both sides: nobody was led into another epoch.
  ["Authenticator", (group) => (group.epochAuthenticator === "" ? NONE : shortId(group.epochAuthenticator))],
  ["Consent", (group) => CONSENT.get(group.consentState)],
  ["Decided", (group) => (group.consentedAtNs === undefined ? NONE : decidedAt(group))],
  ["Pending work", (group) => (group.pendingIntents.length === 0 ? NONE : String(group.pendingIntents.length))],
];

/** How a group reads under each of the rules that choose the winner. */
const RULES = {
  live: ["Live before restored", (group) => (group.state === "restored" ? "restored" : "live")],
  activity: ["Greatest activity", (group) => (group.lastMessageNs === undefined ? "no message" : moment(group.lastMessageNs))],
  id: ["Greatest id", (group) => shortId(group.groupId)],
};
const OUTCOMES = { decides: "decides", equal: "equal", unused: "not needed" };

export function showInspector(pane, person) {
  const drawer = pane.querySelector(".inspector");
  const toggle = pane.querySelector(".inspect");
  drawer.id = `inspector-${person.key}`;
  drawer.setAttribute("aria-label", `Groups behind ${person.name}'s conversation`);
  toggle.setAttribute("aria-controls", drawer.id);
  let wanted = false;

  const setOpen = (open, { focus = true } = {}) => {
    wanted = open;
    render();
    if (focus) (open ? drawer.querySelector("h3") : toggle).focus();
  };
  toggle.addEventListener("click", () => setOpen(drawer.hidden));
  drawer.querySelector("button").addEventListener("click", () => setOpen(false));
  pane.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !drawer.hidden) setOpen(false);
  });

  const render = () => {
    drawer.hidden = !wanted || !person.inspection;
    toggle.setAttribute("aria-expanded", String(!drawer.hidden));
    if (!drawer.hidden) fill(drawer, person);
  };
  return { render, setOpen };
}

function fill(drawer, person) {
  const { inspection } = person;
  const marks = marksOf(inspection);
  const groups = [...inspection.groups].sort((one, two) => (one.groupId < two.groupId ? -1 : 1));
  setText(drawer.querySelector(".lead"), lead(inspection));
  showItems(drawer.querySelector("thead tr"), [undefined, ...groups], {
    key: (group) => group?.groupId ?? "names",
    create: createHead,
    update: (cell, group) => group && updateHead(cell, group, marks),
  });
  showItems(drawer.querySelector("tbody"), FACTS, {
    key: ([name]) => name,
    create: ([name]) => make("tr", {}, make("th", { scope: "row", textContent: name })),
    update: (row, [, read]) => updateFact(row, groups.map((group) => read(group, person))),
  });
  fillWhy(drawer.querySelector(".why"), inspection, groups);
  fillConsents(drawer.querySelector(".consents"), groups, person);
  showItems(drawer.querySelector(".issues"), groups.flatMap(issues), {
    key: (text) => text,
    create: (text) => make("li", { textContent: text }),
    update: () => {},
  });
  setText(drawer.querySelector(".facts"), `Installation ${shortId(person.client.installationId)} in database ${databaseOf(person.key)}`);
}

function lead(inspection) {
  const count = inspection.groups.length;
  if (count < 2) return "One group carries this conversation.";
  const winner = winnerOf(inspection);
  return `${count} groups, one conversation. New messages go to ${winner.groupId.slice(0, 4)}: ${whyWinner(inspection)}.`;
}

/** The rules that chose the winner, with what they compared. */
function fillWhy(section, inspection, groups) {
  section.hidden = groups.length < 2;
  if (section.hidden) return;
  showItems(section.querySelector("ol"), winnerRules(inspection), {
    key: ({ rule }) => rule,
    create: ({ rule }) => make("li", {}, make("b", { textContent: RULES[rule][0] }), " ", make("span", { class: "badge" }), make("span", { class: "compared" })),
    update: (item, { rule, outcome }) => {
      item.dataset.outcome = outcome;
      const badge = item.querySelector(".badge");
      badge.classList.toggle("winner", outcome === "decides");
      setText(badge, OUTCOMES[outcome]);
      setText(item.querySelector(".compared"), groups.map((group) => `${group.groupId.slice(0, 4)}: ${RULES[rule][1](group)}`).join(" · "));
    },
  });
}

/** The records of what was decided: about each group, and about the inbox of the other side. */
function fillConsents(section, groups, person) {
  const { peer } = person.current;
  const records = groups.map((group) => ({ key: group.groupId, text: recordOf(group) }));
  if (peer) {
    const state = person.inboxConsent ?? ConsentState.Unknown;
    const what = state === ConsentState.Unknown ? "no record" : CONSENT.get(state).toLowerCase();
    records.push({ key: peer, text: `${person.callOf(peer)}’s inbox: ${what} (no conversation depends on it)` });
  }
  showItems(section.querySelector("ul"), records, {
    key: ({ key }) => key,
    create: () => make("li"),
    update: (item, { text }) => setText(item, text),
  });
}

function recordOf(group) {
  const name = `Group ${group.groupId.slice(0, 4)}`;
  if (group.consentedAtNs === undefined) return `${name}: no record, so a request`;
  return `${name}: ${CONSENT.get(group.consentState).toLowerCase()}, ${group.consentedAtNs === 0n ? "at time 0: a default, any decision is newer" : `decided ${moment(group.consentedAtNs)}`}`;
}

const decidedAt = ({ consentedAtNs }) => (consentedAtNs === 0n ? "time 0 (default)" : moment(consentedAtNs));

/** A column of the table: a group. The first one holds the names of the rows. */
function createHead(group) {
  if (!group) return make("td");
  const id = make("code", { title: group.groupId, textContent: shortId(group.groupId) });
  return make("th", { scope: "col" }, make("span", { class: "mark" }, id), make("span", { class: "badge" }));
}

function updateHead(cell, group, marks) {
  cell.querySelector(".mark").dataset.mark = marks.get(group.groupId);
  const badge = cell.querySelector(".badge");
  const role = marks.size < 2 ? "" : group.isWinner ? "Winner" : "Duplicate";
  const state = group.state === "active" ? "" : group.state;
  badge.classList.toggle("winner", role === "Winner");
  setText(badge, [role, state].filter(Boolean).join(", "));
}

function updateFact(row, texts) {
  while (row.cells.length > texts.length + 1) row.deleteCell(-1);
  texts.forEach((text, at) => setText(row.cells[at + 1] ?? row.insertCell(), text));
}

/** What waits or was refused, a sentence each. */
function issues(group) {
  const name = group.groupId.slice(0, 4);
  const held = group.hold ? [`${name} waits: ${sentence(group.hold.message)}`] : [];
  const rejected = group.rejected.map(({ sequenceId, code, reason }) => `${name} rejected envelope ${sequenceId} (${code}): ${sentence(reason)}`);
  return [...held, ...rejected];
}
