// GroupUpdated: what a change of a conversation's members or settings shows as in its history.

import type { ContentTypeId, EncodedContent } from "../types.js";
import { readFields, repeated, text } from "./protobuf.js";
import { XMTP, guard } from "./standard.js";

/** An inbox named by a change. */
export interface Inbox {
  inboxId: string;
}

/** A setting that changed. */
export interface MetadataFieldChange {
  /** For example `group_name`. */
  fieldName: string;
  oldValue?: string;
  newValue?: string;
}

/** A change of a conversation. */
export interface GroupUpdated {
  initiatedByInboxId: string;
  addedInboxes: Inbox[];
  removedInboxes: Inbox[];
  leftInboxes: Inbox[];
  metadataFieldChanges: MetadataFieldChange[];
  addedAdminInboxes: Inbox[];
  removedAdminInboxes: Inbox[];
  addedSuperAdminInboxes: Inbox[];
  removedSuperAdminInboxes: Inbox[];
}

/** Reads the content of a change that was recorded here; it is never sent. @internal */
export function decodeGroupUpdated(content: EncodedContent): GroupUpdated {
  const fields = readFields(content.content);
  const inboxes = (number: number): Inbox[] =>
    repeated(fields, number).map((inbox) => ({ inboxId: text(readFields(inbox), 1) ?? "" }));
  return {
    initiatedByInboxId: text(fields, 1) ?? "",
    addedInboxes: inboxes(2),
    removedInboxes: inboxes(3),
    leftInboxes: inboxes(5),
    metadataFieldChanges: repeated(fields, 4).map(fieldChange),
    addedAdminInboxes: inboxes(6),
    removedAdminInboxes: inboxes(7),
    addedSuperAdminInboxes: inboxes(8),
    removedSuperAdminInboxes: inboxes(9),
  };
}

function fieldChange(bytes: Uint8Array): MetadataFieldChange {
  const fields = readFields(bytes);
  const change: MetadataFieldChange = { fieldName: text(fields, 1) ?? "" };
  const oldValue = text(fields, 2);
  if (oldValue !== undefined) change.oldValue = oldValue;
  const newValue = text(fields, 3);
  if (newValue !== undefined) change.newValue = newValue;
  return change;
}

/** The content type of changes. */
export const contentTypeGroupUpdated = async (): Promise<ContentTypeId> => ({
  authorityId: XMTP,
  typeId: "group_updated",
  versionMajor: 1,
  versionMinor: 0,
});

/** Whether a message is a change of its conversation. */
export const isGroupUpdated = guard<GroupUpdated>("group_updated");
