// Marks that tell the physical groups of a conversation apart, the same on both sides.

/** Group id → "a", "b", … in the order of the ids, which all sides share. */
export function marksOf(inspection) {
  const ids = (inspection?.groups ?? []).map((group) => group.groupId).sort();
  return new Map(ids.map((id, at) => [id, String.fromCharCode(97 + (at % 6))]));
}

export const winnerOf = (inspection) => inspection?.groups.find((group) => group.isWinner);

/** Why the winner is the winner (DMS-013): not restored, then the last message, then the id. */
export function whyWinner(inspection) {
  const winner = winnerOf(inspection);
  const others = inspection.groups.filter((group) => group !== winner);
  const equals = others.filter((group) => (group.state === "restored") === (winner.state === "restored"));
  if (equals.length === 0) return "the others are restored from an archive";
  const latest = winner.lastMessageNs;
  if (latest === undefined) return "no group has a message yet, so the greatest id decides";
  if (equals.some((group) => group.lastMessageNs === latest)) return "the last messages are equally new, so the greatest id decides";
  return "its last message is the newest";
}
