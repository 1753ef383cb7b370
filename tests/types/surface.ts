// Compiled, never run: the types an app sees.

import {
  type AddMembersResult,
  type ArchiveMetadata,
  type ArchiveProgress,
  BackupElementSelectionOption,
  BrowserDelivery,
  Client,
  ConsentState,
  type ContentCodec,
  type DecodedMessage,
  type Delivery,
  type Dm,
  DovetailError,
  type Group,
  type GroupPermissions,
  GroupPermissionsOptions,
  type GroupUpdated,
  type InboxState,
  type Installation,
  type LeaveRequest,
  MetadataField,
  PermissionPolicy,
  PermissionUpdateType,
  createEOASigner,
  isLeaveRequest,
  isText,
} from "../../js/index.js";

type BuiltIn = string | GroupUpdated | LeaveRequest;

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
  void content;
}

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

const states: InboxState[] = await Client.fetchInboxStates(["aa"], { delivery });
const installations: Installation[] = (await client.preferences.inboxState()).installations;
await client.revokeInstallations(installations.map(({ bytes }) => bytes));
await Client.revokeInstallations(wallet, "aa", [installations[0]?.id ?? ""], "local");
const reached: Map<string, boolean> = await Client.canMessage([signer.getIdentifier()]);
const end: bigint | undefined = (await client.fetchKeyPackageStatuses(["aa"])).get("aa")?.lifetime?.notAfter;

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

export { end, failed, id, list, page, permissions, reached, states, texts };
