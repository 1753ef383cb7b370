// Inboxes and their installations, with a client and without one, over a stand-in for the wasm side.

import assert from "node:assert/strict";
import { test } from "node:test";
import { load, overBridge } from "./load.mjs";

const EMPTY = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
const ACCOUNT = { identifier: "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf", identifierKind: 0 };
const SIGNER = { type: "EOA", getIdentifier: async () => ACCOUNT, signMessage: async () => `0x${"11".repeat(65)}` };
const DELIVERY = { publish() {}, query() {}, newest() {}, lookup() {}, subscribe() {} };
const STATE = {
  inboxId: "aa",
  recoveryIdentifier: ACCOUNT,
  installations: [{ id: "0aff", bytes: new Uint8Array([10, 255]), clientTimestampNs: 5n }],
  accountIdentifiers: [ACCOUNT],
};

/** A package whose wasm side notes every call and answers what `answers` says. */
async function start(answers = {}) {
  const calls = [];
  const noting = (object) =>
    Object.fromEntries(
      Object.entries(object).map(([name, value]) => [
        name,
        typeof value === "function" ? (...given) => (calls.push([name, ...given]), value(...given)) : value,
      ]),
    );
  const { module = {}, ...raw } = answers;
  const api = await load("index.ts", {
    createClient: async () => noting({ inboxId: "aa", installationId: "0aff", close: async () => {}, ...raw }),
    ...noting(module),
  });
  await api.init(EMPTY);
  return { api, calls };
}

const code = (code) => (error) => error.name.endsWith("Error") && error.code === code;

test("states of inboxes: the own one, others, as known here or fetched", async () => {
  const { api, calls } = await start({ ownState: async () => STATE, inboxStates: async () => [STATE] });
  const client = await api.Client.build(ACCOUNT, { delivery: DELIVERY });
  const { preferences } = client;
  assert.deepEqual(await preferences.inboxState(), STATE);
  assert.deepEqual(await preferences.fetchInboxState(), STATE);
  assert.deepEqual(await preferences.getInboxStates(["aa", "bb"]), [STATE]);
  assert.deepEqual(await preferences.fetchInboxStates(["aa"]), [STATE]);
  assert.deepEqual(calls, [["ownState", false], ["ownState", true], ["inboxStates", ["aa", "bb"], false], ["inboxStates", ["aa"], true]]);
  for (const call of [() => preferences.getInboxStates("aa"), () => preferences.fetchInboxStates([1])]) {
    await assert.rejects(call(), code("input.value"));
  }
});

test("a client revokes by ids or bytes, and all but itself", async () => {
  const { api, calls } = await start({ revokeInstallations: async () => {} });
  const client = await api.Client.create(SIGNER, { delivery: DELIVERY });
  await client.revokeInstallations(["0aff", new Uint8Array([1, 0x2b])]);
  await client.revokeInstallations([]);
  await client.revokeAllOtherInstallations();
  assert.deepEqual(calls, [["revokeInstallations", ["0aff", "012b"]], ["revokeInstallations", []], ["revokeInstallations", undefined]]);
  await assert.rejects(client.revokeInstallations("0aff"), code("input.value"));
  await assert.rejects(client.revokeInstallations([5]), code("input.value"));
});

test("without a signer nothing is revoked, not even nobody", async () => {
  const { api, calls } = await start({ revokeInstallations: async () => {} });
  const client = await api.Client.build(ACCOUNT, { delivery: DELIVERY });
  for (const call of [() => client.revokeInstallations([]), () => client.revokeAllOtherInstallations()]) {
    const promise = call();
    await assert.rejects(promise, { name: "SignerUnavailableError", code: "client.no_signer" });
  }
  assert.deepEqual(calls, []);
});

test("what a signer throws is the cause, with a client and without one", async () => {
  const thrown = new Error("declined");
  const signer = { ...SIGNER, signMessage: () => Promise.reject(thrown) };
  const refuse = { code: "client.signature", message: "the wallet did not sign", retryable: true };
  const module = { revokeInstallations: ({ sign }) => sign("text").catch(() => Promise.reject(refuse)) };
  const { api } = await start({ module });
  await assert.rejects(api.Client.revokeInstallations(signer, "aa", ["0aff"]), { ...refuse, cause: thrown });
});

test("without a client: states, reachability, revocation, over the delivery that is named", async () => {
  const module = {
    inboxStates: async () => [STATE],
    canMessage: async () => [true, false],
    revokeInstallations: async () => {},
  };
  const { api, calls } = await start({ module });
  const { Client, BrowserDelivery } = api;
  const other = { identifier: "0xABC", identifierKind: 0 };
  assert.deepEqual(await Client.fetchInboxStates(["aa"], { delivery: DELIVERY }), [STATE]);
  assert.deepEqual(
    await Client.canMessage([ACCOUNT, other], { delivery: DELIVERY }),
    new Map([[ACCOUNT.identifier, true], ["0xABC", false]]),
  );
  await Client.revokeInstallations(SIGNER, "aa", [new Uint8Array([10, 255])], { delivery: DELIVERY });
  const [[, first, ids], [, second, accounts], [, { sign, delivery: third, ...revocation }]] = calls;
  assert.ok(overBridge || [first, second, third].every((one) => one === DELIVERY));
  assert.deepEqual([ids, accounts], [["aa"], [ACCOUNT, other]]);
  assert.deepEqual(revocation, { inboxId: "aa", installationIds: ["0aff"], identifier: ACCOUNT });
  // A worker gives it back with the call.
  if (!overBridge) assert.deepEqual(await sign("text"), new Uint8Array(65).fill(0x11));
  // By default, and for the environment of other SDKs: the delivery of the page.
  await Client.fetchInboxStates(["aa"]);
  await Client.canMessage([ACCOUNT], "local");
  if (overBridge) return;
  assert.ok(calls[3][1] instanceof BrowserDelivery);
  assert.equal(calls[3][1], calls[4][1]);
});

test("bad arguments without a client reject with input.value and ask nobody", async () => {
  const nobody = () => assert.fail("asked");
  const { api } = await start({ module: { inboxStates: nobody, canMessage: nobody, revokeInstallations: nobody } });
  const { Client } = api;
  for (const call of [
    () => Client.fetchInboxStates("aa"),
    () => Client.fetchInboxStates(["aa"], { delivery: { publish() {} } }),
    () => Client.canMessage([{ identifier: 5 }]),
    () => Client.canMessage([ACCOUNT], null),
    () => Client.revokeInstallations({ ...SIGNER, type: "SCW" }, "aa", []),
    () => Client.revokeInstallations(SIGNER, 5, []),
    () => Client.revokeInstallations(SIGNER, "aa", "0aff"),
  ]) {
    const promise = call();
    assert.ok(promise instanceof Promise);
    await assert.rejects(promise, code("input.value"));
  }
});

test("key packages: a lifetime in seconds, or what is wrong", async () => {
  const { api, calls } = await start({
    keyPackageStatuses: async () => [
      { usable: true, expiresNs: 1_700_000_000_999_999_999n },
      { usable: true },
      { usable: false, problem: "no key package is published" },
    ],
  });
  const client = await api.Client.build(ACCOUNT, { delivery: DELIVERY });
  assert.deepEqual(
    await client.fetchKeyPackageStatuses(["aa", "bb", "cc"]),
    new Map([
      ["aa", { lifetime: { notBefore: 0n, notAfter: 1_700_000_000n } }],
      ["bb", { lifetime: { notBefore: 0n, notAfter: 2n ** 64n - 1n } }],
      ["cc", { validationError: "no key package is published" }],
    ]),
  );
  assert.deepEqual(calls, [["keyPackageStatuses", ["aa", "bb", "cc"]]]);
});
