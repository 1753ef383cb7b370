// Marks that tell the physical groups of a conversation apart, the same on both sides.

/** Group id → "a", "b", … in the order of the ids, which all sides share. */
export function marksOf(inspection) {
  const ids = (inspection?.groups ?? []).map((group) => group.groupId).sort();
  return new Map(ids.map((id, at) => [id, String.fromCharCode(97 + (at % 6))]));
}

export const winnerOf = (inspection) => inspection?.groups.find((group) => group.isWinner);

const isRestored = (group) => group.state === "restored";

/**
 * The rules that order the groups of a conversation (DMS-013); the first that tells them apart
 * decides: `{ rule, outcome }` each, in their order; `outcome` is "decides", "equal" or "unused".
 */
export function winnerRules(inspection) {
  const winner = winnerOf(inspection);
  let rivals = inspection.groups.filter((group) => group !== winner);
  const tells = {
    // Live before restored.
    live: (group) => isRestored(group) !== isRestored(winner),
    // Greatest activity; none at all is the least.
    activity: (group) => group.lastMessageNs !== winner.lastMessageNs,
    // Ids are never equal.
    id: () => true,
  };
  return Object.entries(tells).map(([rule, differs]) => {
    if (rivals.length === 0) return { rule, outcome: "unused" };
    rivals = rivals.filter((group) => !differs(group));
    return { rule, outcome: rivals.length === 0 ? "decides" : "equal" };
  });
}

const WHY = {
  live: "the others are restored from an archive",
  activity: "its last message is the newest",
  id: "the last messages are equally new, so the greatest id decides",
};

/** Why the winner is the winner, in words. */
export function whyWinner(inspection) {
  if (inspection.groups.every((group) => group.lastMessageNs === undefined && !isRestored(group))) {
    return "no group has a message yet, so the greatest id decides";
  }
  return WHY[winnerRules(inspection).find(({ outcome }) => outcome === "decides").rule];
}
