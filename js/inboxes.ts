// Accounts that stand for inboxes.

import * as check from "./check.js";
import type { Core } from "./core.js";
import { DovetailError } from "./errors.js";
import type { Identifier } from "./types.js";

const identifiers = check.list(check.identifier);

/** The inbox of every account; rejects with `group.unknown_inbox` when one has none. @internal */
export async function inboxesOf(core: Core, accounts: Identifier[]): Promise<string[]> {
  const given = identifiers(accounts, "identifiers");
  const found = await core.call((raw) => raw.findInboxes(given));
  return given.map(({ identifier }, at) => {
    const inboxId = found[at];
    if (inboxId !== undefined) return inboxId;
    throw new DovetailError("group.unknown_inbox", `no inbox has the account ${identifier}; its owner has to register first`);
  });
}
