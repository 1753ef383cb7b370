// Groups over a stand-in for the wasm side: what is named, checked and shaped here.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./load.mjs";

const ACCOUNT = { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 };
const DELIVERY = { publish() {}, query() {}, newest() {}, lookup() {}, subscribe() {} };

const view = (extra = {}) => ({
  id: "g1",
  conversationType: 1,
  createdAtNs: 1n,
  addedByInboxId: "aa",
  creatorInboxId: "aa",
  state: "active",
  consentState: 1,
  ...extra,
});

/** A group of a client whose wasm side notes every call; `shown` is what it says of the group. */
async function start(answers = {}, shown = {}) {
  const calls = [];
  const state = { shown };
  const raw = new Proxy(
    {
      inboxId: "aa",
      installationId: "0aff",
      createGroup: async () => view(state.shown),
      conversation: async () => view(state.shown),
      changeGroup: async () => undefined,
      syncConversation: async () => {},
      findInboxes: async (accounts) => accounts.map(({ identifier }) => (identifier === "0x0" ? undefined : `of ${identifier}`)),
      ...answers,
    },
    {
      get(target, name) {
        const value = target[name];
        if (name === "then" || typeof value !== "function") return value;
        return (...given) => {
          calls.push([name, ...given]);
          return value(...given);
        };
      },
    },
  );
  const api = await load("index.ts", { createClient: async () => raw });
  await api.init(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]));
  const client = await api.Client.build(ACCOUNT, { delivery: DELIVERY });
  const group = await client.conversations.createGroup(["bb"]);
  const changes = () => calls.filter(([name]) => name === "changeGroup").map(([, , ...change]) => change);
  return { api, client, group, calls, changes, state };
}

const wrong = (call, { DovetailError }, code = "input.value") =>
  assert.rejects(call(), (error) => error instanceof DovetailError && error.code === code);

test("a group is created with all that is known of it", async () => {
  const { api, client, calls } = await start();
  assert.deepEqual(calls[0], ["createGroup", { members: ["bb"], permissions: 0 }]);
  const { GroupPermissionsOptions, PermissionPolicy, Group } = api;
  const group = await client.conversations.createGroup(["bb", "cc"], {
    groupName: "name",
    groupDescription: "about",
    groupImageUrlSquare: "image",
    appData: "data",
    permissions: GroupPermissionsOptions.AdminOnly,
    messageDisappearingSettings: { fromNs: 1n, inNs: 2n },
  });
  assert.ok(group instanceof Group);
  assert.deepEqual(calls.at(-1), [
    "createGroup",
    {
      members: ["bb", "cc"],
      permissions: 1,
      name: "name",
      description: "about",
      imageUrl: "image",
      appData: "data",
      disappearFromNs: 1n,
      disappearInNs: 2n,
    },
  ]);
  const customPermissionPolicySet = {
    addMemberPolicy: PermissionPolicy.Admin,
    removeMemberPolicy: PermissionPolicy.SuperAdmin,
    addAdminPolicy: PermissionPolicy.Deny,
    removeAdminPolicy: PermissionPolicy.SuperAdmin,
    updateGroupNamePolicy: PermissionPolicy.Allow,
    updateGroupDescriptionPolicy: PermissionPolicy.Admin,
    updateGroupImageUrlSquarePolicy: PermissionPolicy.Deny,
    updateMessageDisappearingPolicy: PermissionPolicy.Allow,
    updateAppDataPolicy: PermissionPolicy.SuperAdmin,
  };
  const custom = { permissions: GroupPermissionsOptions.CustomPolicy, customPermissionPolicySet };
  await client.conversations.createGroupWithIdentifiers([ACCOUNT], custom);
  assert.deepEqual(calls.at(-1)[1], {
    members: [`of ${ACCOUNT.identifier}`],
    permissions: 2,
    policies: [2, 3, 1, 3, 0, 2, 1, 0, 3],
  });
});

test("bad arguments of groups reject with input.value and reach nothing", async () => {
  const { api, client, group, calls } = await start();
  const { conversations } = client;
  const before = calls.length;
  const set = { permissions: 2 };
  for (const call of [
    () => conversations.createGroup(),
    () => conversations.createGroup("bb"),
    () => conversations.createGroup([5]),
    () => conversations.createGroup([], null),
    () => conversations.createGroup([], { groupName: 5 }),
    () => conversations.createGroup([], { permissions: 3 }),
    () => conversations.createGroup([], set),
    () => conversations.createGroup([], { customPermissionPolicySet: {} }),
    () => conversations.createGroup([], { ...set, customPermissionPolicySet: { addMemberPolicy: 0 } }),
    () => conversations.createGroup([], { messageDisappearingSettings: { fromNs: 1n } }),
    () => conversations.createGroupWithIdentifiers(["0x1"]),
    () => conversations.createGroupWithIdentifiers([ACCOUNT], { appData: {} }),
    () => group.updateName(),
    () => group.updateAppData({}),
    () => group.addMembers("bb"),
    () => group.removeMembers([5]),
    () => group.addMembersByIdentifiers([{}]),
    () => group.addAdmin(5),
    () => group.isAdmin(),
    () => group.updatePermission(7, 0),
    () => group.updatePermission(0, 4),
    () => group.updatePermission(4, 0),
    () => group.updatePermission(4, 0, 9),
    () => group.updateMessageDisappearingSettings(1n),
    () => api.metadataFieldName(9),
  ]) {
    await wrong(call, api);
  }
  assert.equal(calls.length, before);
  for (const call of [
    () => conversations.createGroupWithIdentifiers([ACCOUNT, { identifier: "0x0", identifierKind: 0 }]),
    () => group.addMembersByIdentifiers([{ identifier: "0x0", identifierKind: 0 }]),
  ]) {
    await wrong(call, api, "group.unknown_inbox");
  }
  assert.ok(calls.slice(before).every(([name]) => name === "findInboxes"));
});

test("getters show what the last call found", async () => {
  const { group, state } = await start({}, { name: "old", superAdmins: "aa bb" });
  const shown = () => [group.name, group.description, group.imageUrl, group.appData, group.minimumVersion];
  assert.deepEqual(shown(), ["old", "", "", "", ""]);
  assert.deepEqual([group.admins, group.superAdmins], [[], ["aa", "bb"]]);
  state.shown = { name: "new", description: "d", imageUrl: "i", appData: "a", floor: "1.0.0", admins: "cc" };
  assert.equal(group.name, "old");
  await group.updateName("new");
  assert.deepEqual(shown(), ["new", "d", "i", "a", "1.0.0"]);
  state.shown = { name: "newer" };
  await group.sync();
  assert.deepEqual([group.name, group.admins], ["newer", []]);
  state.shown = { admins: "dd" };
  assert.deepEqual([await group.listAdmins(), group.admins], [["dd"], ["dd"]]);
  assert.deepEqual([await group.isAdmin("dd"), await group.isSuperAdmin("dd")], [true, false]);
  assert.equal(await group.isPendingRemoval(), false);
  state.shown = { leaving: "bb aa", disappearFromNs: "5", disappearInNs: "7" };
  assert.equal(await group.isPendingRemoval(), true);
  assert.deepEqual(await group.messageDisappearingSettings(), { fromNs: 5n, inNs: 7n });
  assert.equal(await group.isMessageDisappearingEnabled(), true);
  state.shown = { disappearInNs: "7" };
  assert.equal(await group.isMessageDisappearingEnabled(), false);
});

test("every change is one call, and its result is not lost when the group cannot be read", async () => {
  let failing = false;
  const result = { failedInstallations: ["ff"], notAdded: ["cc"] };
  const { api, group, changes } = await start({
    changeGroup: async (_, what) => (what === "add" ? result : undefined),
    conversation: async () => {
      if (failing) throw { code: "store.failed", message: "no" };
      return view();
    },
  });
  const { PermissionUpdateType, PermissionPolicy, MetadataField } = api;
  assert.deepEqual(await group.addMembers(["bb", "cc"]), result);
  failing = true;
  assert.deepEqual(await group.addMembersByIdentifiers([ACCOUNT]), result);
  await group.removeMembers(["bb"]);
  await group.removeMembersByIdentifiers([ACCOUNT]);
  await group.updateName("n");
  await group.updateDescription("d");
  await group.updateImageUrl("i");
  await group.updateAppData("a");
  await group.updateMinimumVersion("1.0.0");
  await group.addAdmin("bb");
  await group.removeAdmin("bb");
  await group.addSuperAdmin("bb");
  await group.removeSuperAdmin("bb");
  await group.updatePermission(PermissionUpdateType.RemoveMember, PermissionPolicy.Deny);
  await group.updatePermission(PermissionUpdateType.UpdateMetadata, PermissionPolicy.Admin, MetadataField.GroupName);
  await group.updatePermission(PermissionUpdateType.UpdateMetadata, PermissionPolicy.Allow, MetadataField.MessageExpirationInNs);
  await group.updateMessageDisappearingSettings(5n, 7n);
  await group.removeMessageDisappearingSettings();
  await group.requestRemoval();
  const account = `of ${ACCOUNT.identifier}`;
  assert.deepEqual(changes(), [
    ["add", ["bb", "cc"]],
    ["add", [account]],
    ["remove", ["bb"]],
    ["remove", [account]],
    ["setting", 2, "n"],
    ["setting", 1, "d"],
    ["setting", 3, "i"],
    ["setting", 0, "a"],
    ["setting", 6, "1.0.0"],
    ["admin", "bb", true],
    ["admin", "bb", false],
    ["superAdmin", "bb", true],
    ["superAdmin", "bb", false],
    ["policy", 1, 1],
    ["policy", 4, 2],
    ["policy", 7, 0],
    // From first, in second.
    ["setting", 4, 5n],
    ["setting", 5, 7n],
    ["setting", 4, 0n],
    ["setting", 5, 0n],
    ["leave"],
  ]);
});

test("permissions read by name", async () => {
  const { api, group } = await start({ permissions: async () => [2, 0, 1, 2, 3, 4, 5, 0, 1, 2] });
  assert.deepEqual(await group.permissions(), {
    policyType: api.GroupPermissionsOptions.CustomPolicy,
    policySet: {
      addMemberPolicy: 0,
      removeMemberPolicy: 1,
      addAdminPolicy: 2,
      removeAdminPolicy: 3,
      updateGroupNamePolicy: 4,
      updateGroupDescriptionPolicy: 5,
      updateGroupImageUrlSquarePolicy: 0,
      updateMessageDisappearingPolicy: 1,
      updateAppDataPolicy: 2,
    },
  });
  const names = await Promise.all([0, 1, 2, 3, 4, 5].map(api.metadataFieldName));
  assert.deepEqual(names, [
    "app_data",
    "description",
    "group_name",
    "group_image_url_square",
    "message_disappear_from_ns",
    "message_disappear_in_ns",
  ]);
});

test("a hold shows on the conversation", async () => {
  const hold = { code: "floor", message: "needs a newer version", sequenceId: 4 };
  const { group } = await start({}, { hold, pausedForVersion: "9.0.0" });
  assert.deepEqual([await group.hold(), await group.pausedForVersion()], [hold, "9.0.0"]);
});
