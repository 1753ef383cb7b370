// Compiled, never run: the types an app sees.

import {
  ActionStyle,
  type AddMembersResult,
  type ArchiveMetadata,
  type ArchiveProgress,
  BackupElementSelectionOption,
  type Attachment,
  BrowserDelivery,
  type BuiltInContentTypes,
  Client,
  Compression,
  ConsentState,
  type ContentCodec,
  type DecodedMessage,
  type Delivery,
  type Dm,
  DovetailError,
  type EncodedContent,
  type EnrichedReply,
  type Group,
  type GroupPermissions,
  GroupPermissionsOptions,
  type InboxState,
  type Installation,
  MetadataField,
  PermissionPolicy,
  PermissionUpdateType,
  type Reaction,
  ReactionAction,
  ReactionSchema,
  type UserPreferenceUpdate,
  createEOASigner,
  decompressContent,
  decryptAttachment,
  encodeMarkdown,
  encodeReply,
  encryptAttachment,
  isActions,
  isEditMessage,
  isLeaveRequest,
  isMarkdown,
  isReaction,
  isReadReceipt,
  isRemoteAttachment,
  isReply,
  isText,
  isTextReply,
  isWalletSendCalls,
} from "../../js/index.js";

type BuiltIn = BuiltInContentTypes;

const signer = createEOASigner();
const address: string = signer.getIdentifier().identifier;
const delivery: Delivery = new BrowserDelivery({ name: address });
const client: Client<BuiltIn> = await Client.create(signer, { delivery, dbPath: null });
const dm: Dm<BuiltIn> = await client.conversations.createDm("aa");
const id: string = await dm.sendText("hello", { idempotencyKey: "key" });
const list: (Dm<BuiltIn> | Group<BuiltIn>)[] = await client.conversations.list({ consentStates: [ConsentState.Allowed], limit: 5n });
const page: DecodedMessage<BuiltIn>[] = await dm.messages({ limit: 50, direction: "descending" });
for await (const message of await client.conversations.streamAllMessages()) {
  const content: BuiltIn | undefined = message.content;
  if (isText(message)) message.content?.toUpperCase();
  if (isLeaveRequest(message)) message.content?.authenticatedNote?.length.toFixed();
  if (isMarkdown(message)) message.content?.toUpperCase();
  if (isReaction(message) && message.content?.action === ReactionAction.Added) message.content.content.toUpperCase();
  if (isTextReply(message)) message.content?.content?.toUpperCase();
  if (isReply(message)) {
    const answered: DecodedMessage | null | undefined = message.content?.inReplyTo;
    // @ts-expect-error: a reply can say anything
    message.content?.content.toUpperCase();
    void answered;
  }
  if (isActions(message)) message.content?.actions[0]?.expiresAtNs?.toString();
  if (isWalletSendCalls(message)) message.content?.calls[0]?.metadata?.["note"]?.toUpperCase();
  if (isEditMessage(message)) await decompressContent(message.content?.editedContent as EncodedContent);
  if (isRemoteAttachment(message) && message.content) await decryptAttachment(new Uint8Array(), message.content);
  if (isReadReceipt(message)) void message.content;
  if (message.contentError?.code === "content.unknown_type") message.encodedContent.content.length.toFixed();
  if (typeof content === "object" && "referenceId" in content) {
    const said: Exclude<BuiltIn, EnrichedReply> | undefined = content.content;
    void said;
  }
  void content;
}

const reaction: Reaction = {
  reference: id,
  referenceInboxId: "",
  action: ReactionAction.Added,
  content: "+1",
  schema: ReactionSchema.Unicode,
};
const file: Attachment = { mimeType: "text/plain", content: new Uint8Array() };
const { payload, ...rest } = await encryptAttachment(file);
const sent: string[] = [
  await dm.sendMarkdown("# hi", { compression: Compression.Gzip }),
  await dm.sendReaction(reaction),
  await dm.sendReadReceipt(),
  await dm.sendReply({ reference: id, content: await encodeMarkdown("hi") }),
  await dm.send(await encodeReply({ reference: id, content: await encodeMarkdown("hi") }), { shouldPush: false }),
  await dm.sendAttachment(file),
  await dm.sendRemoteAttachment({ ...rest, url: `https://example.org/${payload.length}`, scheme: "https://" }),
  await dm.sendMultiRemoteAttachment({ attachments: [{ ...rest, url: "https://example.org", scheme: "https://" }] }),
  await dm.sendTransactionReference({ networkId: "1", reference: "0x" }),
  await dm.sendWalletSendCalls({ version: "1", chainId: "0x1", from: "0x", calls: [{ to: "0x" }] }),
  await dm.sendActions({ id: "1", description: "?", actions: [{ id: "a", label: "A", style: ActionStyle.Danger }] }),
  await dm.sendIntent({ id: "1", actionId: "a", metadata: { at: 1 } }),
  await dm.editMessage(id, "hello!"),
  await dm.deleteMessage(id),
];
// @ts-expect-error: a reply says something
await dm.sendReply({ reference: id });
// @ts-expect-error: wallet calls tell what for
await dm.sendWalletSendCalls({ version: "1", chainId: "0x1", from: "0x", calls: [{ metadata: { description: "x" } }] });

const group: Group<BuiltIn> = await client.conversations.createGroup(["aa"], {
  groupName: "name",
  permissions: GroupPermissionsOptions.AdminOnly,
  messageDisappearingSettings: { fromNs: 1n, inNs: 2n },
});
const leftOut: AddMembersResult = await group.addMembers(["bb"]);
const permissions: GroupPermissions = await group.permissions();
const texts: string[] = [group.name, ...group.admins, ...leftOut.notAdded];
await group.updatePermission(PermissionUpdateType.UpdateMetadata, PermissionPolicy.Admin, MetadataField.GroupName);
const failed: string | undefined = (await group.debugInfo()).failedInstallations[0]?.installationId;
// @ts-expect-error: the two inboxes of a DM are fixed
await dm.addMembers(["bb"]);
// @ts-expect-error: all nine policies
await client.conversations.createGroup([], { customPermissionPolicySet: { addMemberPolicy: PermissionPolicy.Allow } });

const archive: Uint8Array = await client.createArchive({ elements: [BackupElementSelectionOption.Messages], endNs: 5n }, new Uint8Array(32));
const about: ArchiveMetadata = await client.archiveMetadata(archive, new Uint8Array(32));
const done: void = await client.importArchive(archive, new Uint8Array(32), {
  onProgress: ({ readBytes, totalBytes, elements }: ArchiveProgress) => void (readBytes / totalBytes + elements),
});
const made: bigint = about.startNs ?? about.exportedAtNs;

class PollCodec implements ContentCodec<{ votes: number }> {
  contentType = { authorityId: "example.org", typeId: "poll", versionMajor: 1, versionMinor: 0 };
  encode(content: { votes: number }) {
    return { type: this.contentType, parameters: {}, content: new Uint8Array([content.votes]) };
  }
  decode() {
    return { votes: 1 };
  }
  fallback() {
    return undefined;
  }
  shouldPush() {
    return true;
  }
}

// A wallet that answers later, and with a hexadecimal text.
const wallet = { type: "EOA" as const, getIdentifier: async () => signer.getIdentifier(), signMessage: async () => "0x" };
const polls = await Client.create(wallet, { codecs: [new PollCodec()] });
const poll = (await (await polls.conversations.createDm("aa")).lastMessage())?.content;
if (typeof poll === "object" && "votes" in poll) poll.votes.toFixed();
if (typeof poll === "object" && "referenceId" in poll) {
  const said: Exclude<BuiltIn, EnrichedReply> | { votes: number } | undefined = poll.content;
  void said;
}

await client.preferences.sync();
await client.syncAllDeviceSyncGroups();
for await (const updates of await client.preferences.streamPreferences()) {
  const changes: UserPreferenceUpdate[] = updates;
  changes.forEach(({ type, consent }) => [type, consent.state]);
}
const states: InboxState[] = await Client.fetchInboxStates(["aa"], { delivery });
const installations: Installation[] = (await client.preferences.inboxState()).installations;
await client.revokeInstallations(installations.map(({ bytes }) => bytes));
await Client.revokeInstallations(wallet, "aa", [installations[0]?.id ?? ""], "local");
const reached: Map<string, boolean> = await Client.canMessage([signer.getIdentifier()]);
const end: bigint | undefined = (await client.fetchKeyPackageStatuses(["aa"])).get("aa")?.lifetime?.notAfter;

for await (const event of await client.streamEvents({ kinds: ["consent.changed", "message.received"] })) {
  const decided: ConsentState | undefined = event.type === "consent.changed" ? event.state : undefined;
  const type: string | undefined = event.type === "message.received" ? event.contentType?.typeId : undefined;
  // @ts-expect-error: an event cannot be changed
  event.type = "lagged";
  console.log(decided, type);
}
// @ts-expect-error: no such kind
await client.streamEvents({ kinds: ["message.sent"] });
const durable = await client.conversations.consume({ scope: { consentStates: [ConsentState.Allowed] } });
const cursor: string | undefined = (await durable.next()).value?.cursor;
await client.conversations.replay(cursor, { onValue: async ({ id }) => console.log(id) });

try {
  await polls.close();
} catch (error) {
  if (error instanceof DovetailError && error.code === "dm.self") throw error;
  // @ts-expect-error: no such code
  if (error instanceof DovetailError && error.code === "dm.other") throw error;
}
// @ts-expect-error: a client is made by create or build
new Client();
// @ts-expect-error: inbox ids are texts
await client.conversations.createDm(5);
// @ts-expect-error: contract wallets are not supported
await Client.create({ ...wallet, type: "SCW" });

export { end, failed, id, list, page, permissions, reached, sent, states, texts };
