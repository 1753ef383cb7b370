// Groups in Chromium: what an app does with them, and what all members then see.

import assert from "node:assert/strict";
import { test } from "node:test";
import { failure, world } from "./support.mjs";

const place = world();

/** A page with these people's clients, and helpers for their groups. */
async function crowd(log, names) {
  const page = await place.page();
  await helpers(page);
  const ids = {};
  for (const name of names) ids[name] = (await page.evaluate(([n, log]) => open(n, { log }), [name, log])).inboxId;
  return { page, ids };
}

const helpers = (page) =>
  page.evaluate(() => {
    /** A group as a person has it now. */
    globalThis.at = async (name, id) => {
      await people[name].client.conversations.sync();
      const group = await people[name].client.conversations.getConversationById(id);
      await group?.sync();
      return group;
    };
    /** A new group whose members are in. */
    globalThis.make = async (name, members, options) => {
      const group = await people[name].client.conversations.createGroup(members, options);
      await group.publishMessages();
      await group.sync();
      return group;
    };
    /** What all who are in a group must agree on. */
    globalThis.state = async (name, id) => {
      const group = await at(name, id);
      const { epoch, epochAuthenticator, pendingIntents, rejected, held } = await group.debugInfo();
      const members = (await group.members()).map(({ inboxId, permissionLevel }) => [inboxId, permissionLevel]).sort();
      const { name: title, description, imageUrl, appData, admins, superAdmins } = group;
      const shown = { title, description, imageUrl, appData, admins, superAdmins };
      return { ...shown, epoch: String(epoch), epochAuthenticator, pendingIntents, rejected, held, members };
    };
    /** The changes a person sees, in order. */
    globalThis.changes = async (name, id) => {
      const group = await at(name, id);
      return (await group.messages()).filter((message) => dovetail.isGroupUpdated(message)).map(({ content }) => content);
    };
  });

/** Everybody is in the same state, with nothing left to do. */
async function together(page, names, id) {
  const states = [];
  for (const name of names) states.push(await page.evaluate(([n, id]) => state(n, id), [name, id]));
  for (const one of states) assert.deepEqual(one, states[0]);
  assert.deepEqual([states[0].pendingIntents, states[0].rejected, states[0].held], [[], [], undefined]);
  assert.match(states[0].epochAuthenticator, /^[0-9a-f]{64}$/);
  return states[0];
}

test("a group of three: created, read alike by all, written in by all", async () => {
  const { page, ids } = await crowd("three", ["ada", "ben", "cy"]);
  const id = await page.evaluate(async (ids) => {
    const group = await make("ada", [ids.ben, ids.cy], {
      groupName: "Hikers",
      groupDescription: "Sundays",
      groupImageUrlSquare: "https://example.org/a.png",
      appData: '{"colour":"blue"}',
      messageDisappearingSettings: { fromNs: 1n, inNs: 3_600_000_000_000n },
    });
    await group.sendText("hello");
    await group.publishMessages();
    return group.id;
  }, ids);
  const seen = await together(page, ["ada", "ben", "cy"], id);
  assert.deepEqual(
    [seen.title, seen.description, seen.imageUrl, seen.appData, seen.admins, seen.superAdmins],
    ["Hikers", "Sundays", "https://example.org/a.png", '{"colour":"blue"}', [], [ids.ada]],
  );
  assert.deepEqual(seen.members, [[ids.ada, 2], [ids.ben, 0], [ids.cy, 0]].sort());
  const told = await page.evaluate(async (id) => {
    await (await at("ben", id)).sendText("hi");
    await people.ben.client.conversations.syncAll();
    const group = await at("cy", id);
    const messages = await group.messages();
    const [first] = messages;
    return {
      first: [dovetail.isGroupUpdated(first), first.content.initiatedByInboxId, first.content.addedInboxes.length],
      texts: messages.slice(1).map(({ content }) => content),
      expires: messages.slice(1).every(({ expiresAtNs, sentAtNs }) => expiresAtNs === sentAtNs + 3_600_000_000_000n),
      stays: first.expiresAtNs,
      listed: (await people.cy.client.conversations.listGroups()).map((one) => one.id),
      dms: (await people.cy.client.conversations.listDms()).length,
      kind: group instanceof dovetail.Group,
      metadata: group.metadata,
      adder: group.addedByInboxId,
    };
  }, id);
  assert.deepEqual(told, {
    // What a joiner is told is that it was added.
    first: [true, ids.ada, 1],
    texts: ["hello", "hi"],
    expires: true,
    stays: undefined,
    listed: [id],
    dms: 0,
    kind: true,
    metadata: { conversationType: 1, creatorInboxId: ids.ada },
    adder: ids.ada,
  });
  assert.deepEqual(page.errors, []);
});

test("PERM-017 PERM-018 names, roles and permissions, and what a member may not", async () => {
  const { page, ids } = await crowd("roles", ["ada", "ben"]);
  const seen = await page.evaluate(async (ids) => {
    const { GroupPermissionsOptions, PermissionPolicy, PermissionUpdateType, MetadataField } = dovetail;
    const code = (call) => call.then(() => "done", (error) => error.code);
    const group = await make("ada", [ids.ben], { permissions: GroupPermissionsOptions.AdminOnly });
    const mine = await at("ben", group.id);
    const found = { codes: [], getters: [] };
    found.codes.push(await code(mine.updateName("mine")), await code(mine.addAdmin(ids.ben)), await code(mine.updatePermission(0, 0)));
    // A role granted a moment ago makes the same call pass, with no sync in between.
    await group.addAdmin(ids.ben);
    found.codes.push(await code(mine.updateName("Ben's")));
    found.getters.push([mine.name, mine.admins, group.admins, await group.isAdmin(ids.ben), await mine.isSuperAdmin(ids.ada)]);
    // A rule changed a moment ago makes it reject.
    await group.updatePermission(PermissionUpdateType.UpdateMetadata, PermissionPolicy.SuperAdmin, MetadataField.GroupName);
    found.codes.push(await code(mine.updateName("Ben's again")));
    found.codes.push(await code(group.updatePermission(PermissionUpdateType.AddAdmin, PermissionPolicy.Allow)));
    found.codes.push(await code(group.removeSuperAdmin(ids.ada)), await code(group.addAdmin(group.id + group.id)), await code(group.updateName("x".repeat(101))));
    await group.removeAdmin(ids.ben);
    await group.addSuperAdmin(ids.ben);
    await mine.sync();
    found.getters.push([mine.name, await mine.listAdmins(), (await mine.listSuperAdmins()).sort()]);
    found.permissions = await mine.permissions();

    const set = { ...found.permissions.policySet, addAdminPolicy: PermissionPolicy.Admin, updateAppDataPolicy: PermissionPolicy.Deny };
    const custom = { permissions: GroupPermissionsOptions.CustomPolicy, customPermissionPolicySet: set };
    const other = await people.ada.client.conversations.createGroup([], custom);
    found.custom = await other.permissions();
    found.set = set;
    found.codes.push(await code(other.updateAppData("x")));
    const listed = (await people.ada.client.conversations.listGroups()).length;
    const open = { ...custom, customPermissionPolicySet: { ...set, addAdminPolicy: PermissionPolicy.Allow } };
    found.codes.push(await code(people.ada.client.conversations.createGroup([ids.ben], open)));
    found.created = (await people.ada.client.conversations.listGroups()).length - listed;
    const defaults = await (await people.ada.client.conversations.createGroup([])).permissions();
    found.defaults = [defaults.policyType, ...Object.values(defaults.policySet)];
    found.id = group.id;
    return found;
  }, ids);
  const denied = "group.permission_denied";
  assert.deepEqual(seen.codes, [denied, denied, denied, "done", denied, "input.value", denied, "group.unknown_member", "input.value", denied, "input.value"]);
  assert.deepEqual(seen.getters, [
    ["Ben's", [ids.ben], [ids.ben], true, true],
    ["Ben's", [], [ids.ada, ids.ben].sort()],
  ]);
  assert.deepEqual([seen.permissions.policyType, seen.permissions.policySet.updateGroupNamePolicy], [2, 3]);
  assert.deepEqual(seen.custom, { policyType: 2, policySet: seen.set });
  assert.equal(seen.created, 0);
  assert.deepEqual(seen.defaults, [0, 0, 2, 3, 3, 0, 0, 0, 2, 0]);
  await together(page, ["ada", "ben"], seen.id);
  assert.deepEqual(page.errors, []);
});

test("disappearing messages: set, seen by all, taken back in two changes", async () => {
  const { page, ids } = await crowd("disappearing", ["ada", "ben"]);
  const seen = await page.evaluate(async (ids) => {
    const group = await make("ada", [ids.ben]);
    const dm = await people.ada.client.conversations.createDm(ids.ben);
    const read = async (one) => [await one.isMessageDisappearingEnabled(), await one.messageDisappearingSettings()];
    const found = [await read(group)];
    for (const one of [group, dm]) {
      await one.publishMessages();
      await one.updateMessageDisappearingSettings(5n, 7_000_000_000n);
      found.push(await read(one), await read(await at("ben", one.id)));
    }
    await group.removeMessageDisappearingSettings();
    found.push(await read(group), await read(await at("ben", group.id)));
    return { found, changes: (await changes("ben", group.id)).map(({ metadataFieldChanges }) => metadataFieldChanges) };
  }, ids);
  const [on, off] = [[true, { fromNs: 5n, inNs: 7_000_000_000n }], [false, { fromNs: 0n, inNs: 0n }]];
  assert.deepEqual(seen.found, [off, on, on, on, on, off, off]);
  const [from, after] = ["message_disappear_from_ns", "message_disappear_in_ns"];
  assert.deepEqual(seen.changes, [
    [],
    [{ fieldName: from, newValue: "5" }],
    [{ fieldName: after, newValue: "7000000000" }],
    [{ fieldName: from, oldValue: "5", newValue: "0" }],
    [{ fieldName: after, oldValue: "7000000000", newValue: "0" }],
  ]);
});

test("members are added, removed and added again; who is out reads on and cannot write", async () => {
  const { page, ids } = await crowd("members", ["ada", "ben", "cy"]);
  const accounts = await page.evaluate(() => people.ben.client.accountIdentifier);
  const id = await page.evaluate(async (account) => (await people.ada.client.conversations.createGroupWithIdentifiers([account])).id, accounts);
  const added = await page.evaluate(async ([id, ids]) => (await at("ada", id)).addMembers([ids.ben, ids.cy]), [id, ids]);
  assert.deepEqual(added, { failedInstallations: [], notAdded: [] });
  await together(page, ["ada", "ben", "cy"], id);
  await page.evaluate(async ([id, account]) => {
    await (await at("ben", id)).sendText("before");
    await people.ben.client.conversations.syncAll();
    await (await at("ada", id)).removeMembersByIdentifiers([account]);
    await at("ben", id);
  }, [id, accounts]);
  const out = await page.evaluate(async (id) => {
    const group = await at("ben", id);
    return [await group.isActive(), (await group.messages()).some(({ content }) => content === "before"), await group.isPendingRemoval()];
  }, id);
  assert.deepEqual(out, [false, true, false]);
  const refused = await failure(page, async (id) => (await at("ben", id)).sendText("after"), id);
  assert.deepEqual([refused.name, refused.code, refused.retryable], ["DovetailError", "group.not_a_member", false]);
  assert.equal((await failure(page, async (id) => (await at("ben", id)).updateName("x"), id)).code, "group.not_a_member");
  assert.equal((await failure(page, async ([id, own]) => (await at("cy", id)).removeMembers([own]), [id, ids.cy])).code, "group.self");
  const unknown = "ab".repeat(32);
  assert.equal((await failure(page, async ([id, who]) => (await at("cy", id)).addMembers([who]), [id, unknown])).code, "group.unknown_inbox");
  await page.evaluate(async ([id, ids]) => {
    await (await at("cy", id)).addMembers([ids.ben]);
    const group = await at("ben", id);
    await group.sendText("back");
    await group.publishMessages();
  }, [id, ids]);
  await together(page, ["ada", "ben", "cy"], id);
  const [texts, back] = await page.evaluate(async (id) => {
    const texts = async (name) => (await (await at(name, id)).messages({ kind: 0 })).map(({ content }) => content);
    return [[await texts("ada"), await texts("ben")], await (await at("ben", id)).isActive()];
  }, id);
  assert.deepEqual([texts, back], [[["before", "back"], ["before", "back"]], true]);
  assert.deepEqual(page.errors, []);
});

test("GMOD-032 GMOD-033 a member leaves: the super admin's client does the rest in the background", async () => {
  const { page, ids } = await crowd("leave", ["ada", "ben", "cy"]);
  const id = await page.evaluate(async (ids) => (await make("ada", [ids.ben, ids.cy])).id, ids);
  assert.equal((await failure(page, async (id) => (await at("ada", id)).requestRemoval(), id)).code, "group.leave_super_admin");
  const asked = await page.evaluate(async (id) => {
    const group = await at("ben", id);
    await group.requestRemoval();
    const [, request] = await group.messages();
    return [await group.isPendingRemoval(), await group.isActive(), dovetail.isLeaveRequest(request), request.content, request.fallback];
  }, id);
  assert.deepEqual(asked, [true, true, true, {}, "A member asked to leave the group"]);
  await page.waitForFunction(
    async (id) => {
      const [mine, theirs] = await Promise.all(["ben", "ada"].map((n) => people[n].client.conversations.getConversationById(id)));
      return !(await mine.isActive()) && (await theirs.members()).length === 2;
    },
    id,
    { timeout: 30_000, polling: 250 },
  );
  const [left, pending, members] = await page.evaluate(async (id) => {
    const mine = await people.ben.client.conversations.getConversationById(id);
    const { leftInboxes, removedInboxes } = (await changes("ada", id)).at(-1);
    return [[leftInboxes, removedInboxes], await mine.isPendingRemoval(), (await mine.members()).length];
  }, id);
  assert.deepEqual([left, pending, members], [[[{ inboxId: ids.ben }], []], false, 2]);
  await together(page, ["ada", "cy"], id);
  assert.deepEqual(page.errors, []);
});

test("GMOD-009 JOIN-011 who cannot be brought in is told", async () => {
  const { page, ids } = await crowd("partial", ["ada", "ben", "cy"]);
  const seen = await page.evaluate(async (ids) => {
    // Cy has a second device; its key package and Ben's are unusable, as Ada is told.
    const broken = [people.ben.client.installationId];
    people.cyOne = people.cy;
    broken.push((await open("cy", { log: "partial", dbPath: "partial-cy-two" })).installationId);
    const { delivery } = people.ada;
    const spoil = (one) => one && broken.some((id) => one.topic === `03${id}`) ? { ...one, payload: new Uint8Array([1]), hash: undefined } : one;
    const lying = {
      publish: (batch) => delivery.publish(batch),
      query: (topics, limit) => delivery.query(topics, limit),
      newest: async (topics) => (await delivery.newest(topics)).map(spoil),
      lookup: (accounts) => delivery.lookup(accounts),
      subscribe: (topics, wake) => delivery.subscribe(topics, wake),
    };
    await people.ada.client.close();
    await open("ada", { log: "partial", delivery: lying });
    const group = await make("ada", []);
    const result = await group.addMembers([ids.ben, ids.cy]);
    const nobody = await group.addMembers([ids.ben]).catch(({ code, retryable }) => [code, retryable]);
    const cy = (await group.members()).find(({ inboxId }) => inboxId === ids.cy);
    const { failedInstallations } = await group.debugInfo();
    return { broken, result, nobody, cy: [cy.installationIds.length, cy.failedInstallationIds], failedInstallations };
  }, ids);
  const [ben, two] = seen.broken;
  assert.deepEqual(seen.result, { failedInstallations: [two], notAdded: [ids.ben] });
  assert.deepEqual(seen.nobody, ["group.no_installation", true]);
  assert.deepEqual(seen.cy, [1, [two]]);
  assert.deepEqual(seen.failedInstallations, [{ inboxId: ids.cy, installationId: two }]);
  assert.ok(ben);
});

test("GMOD-036 two members racing changes from two tabs each converge", async () => {
  const tabs = { ada: [await place.page(), await place.page()], ben: [await place.page(), await place.page()] };
  const ids = {};
  for (const [name, pages] of Object.entries(tabs)) {
    for (const page of pages) {
      await helpers(page);
      ids[name] = (await page.evaluate((n) => open(n, { log: "race" }), name)).inboxId;
    }
  }
  const id = await tabs.ada[0].evaluate(async (ids) => (await make("ada", [ids.ben])).id, ids);
  const ROUNDS = 5;
  const race = (name, page, tab) =>
    page.evaluate(
      async ([name, id, tab, rounds]) => {
        const group = await at(name, id);
        // Where the other tab ended a change and the next one overruled it, this one cannot know.
        const insist = async (change) => {
          for (;;) {
            const error = await change().catch((error) => error);
            if (error?.code !== "commit.contended") return error && Promise.reject(error);
          }
        };
        for (let round = 0; round < rounds; round += 1) {
          await insist(() => group.updateName(`${name} ${tab} ${round}`));
          await insist(() => group.updateAppData(`${name} ${tab} ${round}`));
        }
        return rounds;
      },
      [name, id, tab, ROUNDS],
    );
  const racers = Object.entries(tabs).flatMap(([name, pages]) => pages.map((page, tab) => race(name, page, tab)));
  assert.deepEqual(await Promise.all(racers), Array(4).fill(ROUNDS));
  const states = [];
  for (const [name, pages] of Object.entries(tabs)) {
    for (const page of [...pages, ...pages]) states.push(await page.evaluate(([n, id]) => state(n, id), [name, id]));
  }
  // The second look of every tab: by then all were quiet. A lost race is told, and nothing else.
  const quiet = [states[2], states[3], states[6], states[7]].map(({ rejected, ...one }) => {
    assert.deepEqual(rejected.filter(({ code, reason }) => code !== "GMOD-036" && !reason.includes("past epoch")), []);
    return one;
  });
  for (const one of quiet) {
    assert.deepEqual(one, quiet[0]);
    assert.deepEqual([one.pendingIntents, one.held], [[], undefined]);
  }
  assert.match(quiet[0].title, /^(ada|ben) [01] \d+$/);
  const told = await tabs.ben[1].evaluate(([n, id]) => changes(n, id), ["ben", id]);
  const names = told.flatMap(({ metadataFieldChanges }) => metadataFieldChanges.filter((one) => one.fieldName === "group_name"));
  assert.equal(new Set(names.map(({ newValue }) => newValue)).size, 4 * ROUNDS, "every change was applied");
  for (const page of Object.values(tabs).flat()) assert.deepEqual(page.errors, []);
});

test("GMOD-025 a paused group says so, others go on, and a newer version resumes it", async () => {
  const { page: old, ids } = await crowd("paused", ["ada", "ben"]);
  // The same module of the next version.
  const newer = async (page) => {
    await helpers(page);
    return page.evaluate(async () => {
      const bytes = new Uint8Array(await (await fetch("/dist/dovetail_bg.wasm")).arrayBuffer());
      const [now, dev] = ["1.11.0", "-dev"].map((text) => new TextEncoder().encode(text));
      const is = (text, at) => text.every((byte, offset) => bytes[at + offset] === byte);
      let found = 0;
      for (let i = 0; i < bytes.length; i += 1) {
        if (bytes[i] === now[0] && is(now, i) && !is(dev, i + now.length)) (bytes[i + now.length - 1] += 1), (found += 1);
      }
      await dovetail.init(bytes);
      return found;
    });
  };
  const page = await place.page();
  assert.ok((await newer(page)) > 0);
  ids.cy = (await page.evaluate(() => open("cy", { log: "paused" }))).inboxId;
  const [id, other] = await page.evaluate(async (ids) => {
    const [group, other] = [await make("cy", [ids.ada, ids.ben]), await make("cy", [ids.ada])];
    return [group.id, other.id];
  }, ids);
  await old.evaluate(async ([id, other]) => void (await at("ada", id), await at("ada", other)), [id, other]);
  await page.evaluate(async ([id, other]) => {
    const group = await at("cy", id);
    await group.updateMinimumVersion("1.11.1");
    await group.updateName("for the new");
    await (await at("cy", other)).updateName("for all");
    return group.minimumVersion;
  }, [id, other]);
  const seen = await old.evaluate(async ([id, other]) => {
    await people.ada.client.conversations.syncAll();
    const group = await people.ada.client.conversations.getConversationById(id);
    const { held, epoch, cursor } = await group.debugInfo();
    return {
      version: await group.pausedForVersion(),
      hold: await group.hold(),
      held,
      behind: held.sequenceId > Number(cursor[0].sequenceId),
      epoch: Number(epoch),
      name: group.name,
      active: await group.isActive(),
      other: (await people.ada.client.conversations.getConversationById(other)).name,
    };
  }, [id, other]);
  assert.deepEqual([seen.version, seen.hold.code, seen.held, seen.behind], ["1.11.1", "floor", seen.hold, true]);
  assert.deepEqual([seen.epoch, seen.name, seen.active, seen.other], [1, "", true, "for all"]);
  for (const call of [
    async (id) => (await people.ada.client.conversations.getConversationById(id)).sendText("hi"),
    async (id) => (await people.ada.client.conversations.getConversationById(id)).updateName("hi"),
  ]) {
    const refused = await failure(old, call, id);
    assert.deepEqual([refused.code, refused.message], ["group.paused", seen.hold.message]);
  }
  assert.equal((await failure(old, async (id) => (await at("ada", id)).updateMinimumVersion("9.9.9"), other)).code, "input.value");
  // The app is updated.
  await old.evaluate(() => people.ada.client.close());
  await place.reload(old);
  await newer(old);
  await old.evaluate(() => open("ada", { log: "paused" }));
  const resumed = await old.evaluate((id) => state("ada", id), id);
  const theirs = await page.evaluate((id) => state("cy", id), id);
  assert.deepEqual(resumed, theirs);
  assert.deepEqual([resumed.title, resumed.held], ["for the new", undefined]);
});
