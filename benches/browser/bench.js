// Figures of the built package in this page. Ours and the floor take turns within one run; the
// medians are compared, because machines differ and are noisy.

import * as floorWrites from "./floor.js";
import { recorded } from "./record.js";

const ROUNDS = 5;
const SENDS = 40;
const READS = 20;
const TEXT = "The quick brown fox jumps over the lazy dog, and then some more of it.";

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const timed = async (task) => {
  const begun = performance.now();
  await task();
  return performance.now() - begun;
};
const begun = Date.now();
const pathOf = (name) => `bench-${name}-${begun}`;
const quiet = (ms = 400) => new Promise((resolve) => setTimeout(resolve, ms));

async function run() {
  const figures = [];
  const note = (name, ours, floor, more = "") => figures.push({ name, ours, floor, more });

  const log = `bench-log-${Date.now()}`;
  const people = [];
  const create = async ({ BrowserDelivery, Client, createEOASigner }, name) => {
    const [signer, delivery] = [createEOASigner(), new BrowserDelivery({ name: log })];
    const dbPath = pathOf(name);
    const client = await Client.create(signer, { dbPath, delivery });
    return { client, delivery, dbPath, signer };
  };
  const dovetail = await import("/dist/index.js");
  people.push(await create(dovetail, "ada"));
  const { default: init } = await import("/floor/dovetail.js");
  await init();
  const rows = ({ puts, deletes, transactions, bytes }) =>
    `${puts.length} puts, ${deletes} deletes, ${bytes} bytes, ${transactions} transaction(s)`;
  note("another registered client", await timed(async () => people.push(await create(dovetail, "ben"))), undefined);

  const [ada, ben] = people;
  const dm = await ada.client.conversations.createDm(ben.client.inboxId);
  await dm.sendText("first");
  await ada.client.conversations.syncAll();
  await ben.client.conversations.syncAll();
  await ada.client.conversations.syncAll();
  const [theirs] = await ben.client.conversations.list();
  if (!theirs || (await theirs.messages()).length !== 1) throw new Error("the DM did not arrive");

  const { Floor } = await import("/floor/dovetail.js");
  const mls = new Floor();
  const database = await floorWrites.twin(`${ada.dbPath}-floor`, ada.dbPath);
  const plain = new TextEncoder().encode(TEXT);

  // Sends. Offline first: nothing else is at work. Then online, with publishing and read-back beside
  // it; the receiver's client, which shares this page, sleeps meanwhile: it is measured below.
  ben.delivery.offline = true;
  for (const online of [false, true]) {
    const where = online ? "online" : "offline";
    ada.delivery.offline = !online;
    for (let i = 0; i < 20; i += 1) await dm.sendText(TEXT);
    await quiet();
    const one = await recorded(ada.dbPath, () => dm.sendText(TEXT));
    await quiet();
    const hundred = await recorded(ada.dbPath, () => Promise.all(Array.from({ length: 100 }, () => dm.sendText(TEXT))));
    const [single, singleFloor, burst, burstFloor] = [[], [], [], []];
    for (let round = 0; round < ROUNDS; round += 1) {
      await quiet();
      single.push((await timed(async () => {
        for (let i = 0; i < SENDS; i += 1) await dm.sendText(TEXT);
      })) / SENDS);
      await quiet();
      singleFloor.push((await timed(async () => {
        for (let i = 0; i < SENDS; i += 1) {
          mls.encrypt(plain);
          await floorWrites.write(database, one.puts);
        }
      })) / SENDS);
      await quiet();
      burst.push(await timed(() => Promise.all(Array.from({ length: 100 }, () => dm.sendText(TEXT)))));
      await quiet();
      burstFloor.push(await timed(async () => {
        for (let i = 0; i < 100; i += 1) mls.encrypt(plain);
        await floorWrites.write(database, hundred.puts);
      }));
    }
    note(`sendText, awaited one by one (${where})`, median(single), median(singleFloor), rows(one));
    note(`100 sendText without awaiting (${where})`, median(burst), median(burstFloor), rows(hundred));
  }

  // Receiving 100 messages of one group, published before.
  ben.delivery.offline = false;
  await ada.client.conversations.syncAll();
  await ben.client.conversations.syncAll();
  const [receive, receiveFloor] = [[], []];
  let written;
  for (let round = 0; round < ROUNDS; round += 1) {
    ben.delivery.offline = true;
    await Promise.all(Array.from({ length: 100 }, () => dm.sendText(TEXT)));
    await ada.client.conversations.syncAll();
    await quiet(800);
    // A pair of its own: the other's receiver never opened what was encrypted for the sends.
    const pair = new Floor();
    const sealed = Array.from({ length: 100 }, () => pair.encrypt(plain));
    let took = 0;
    written = await recorded(ben.dbPath, async () => {
      // Setting it online wakes the client: the sync that follows finds it at work or done.
      took = await timed(async () => {
        ben.delivery.offline = false;
        await ben.client.conversations.syncAll();
      });
    });
    receive.push(took);
    await quiet();
    receiveFloor.push(await timed(async () => {
      for (const message of sealed) pair.decrypt(message);
      await floorWrites.write(database, written.puts);
    }));
  }
  note(
    "receive 100",
    median(receive),
    median(receiveFloor),
    `${written.puts.length} puts, ${written.bytes} bytes, ${written.transactions} transaction(s); with fetching`,
  );
  ben.delivery.offline = true;
  await dm.sendText(TEXT);
  await ada.client.conversations.syncAll();
  await quiet(800);
  const single = await recorded(ben.dbPath, async () => {
    ben.delivery.offline = false;
    await ben.client.conversations.syncAll();
  });
  note("receive 1", undefined, undefined, `${single.puts.length} puts, ${single.deletes} deletes, ${single.bytes} bytes`);

  // Reads. The floor issues the very requests of one call, all at once in one transaction, and takes
  // the stored rows, keys and values, out of the answers: nothing is opened, decoded or made into objects.
  const asked = ({ reads, snapshots }) => {
    const sum = (of) => reads.reduce((total, read) => total + read[of], 0);
    return `${reads.length} requests, ${sum("rows")} rows, ${sum("bytes")} bytes in ${snapshots} transaction(s)`;
  };
  const reading = async (name, task) => {
    const plainly = await floorWrites.connect(ben.dbPath);
    for (let i = 0; i < 20; i += 1) await task();
    // The one with the fewest requests, in case background work reads meanwhile.
    const recordings = [];
    for (let i = 0; i < ROUNDS; i += 1) recordings.push(await recorded(ben.dbPath, task));
    const recording = recordings.sort((a, b) => a.reads.length - b.reads.length)[0];
    const [ours, bare] = [[], []];
    for (let round = 0; round < 2 * ROUNDS; round += 1) {
      for (const [times, run] of [[ours, task], [bare, () => floorWrites.read(plainly, recording.reads)]]) {
        times.push((await timed(async () => {
          for (let i = 0; i < READS; i += 1) await run();
        })) / READS);
      }
    }
    plainly.close();
    note(name, median(ours), median(bare), `${asked(recording)}; floor: the same requests in one`);
  };
  await reading("list, 1 conversation", () => ben.client.conversations.list());
  const newest = { limit: 50, direction: dovetail.SortDirection.Descending };
  await reading("a page of 50 messages", () => theirs.messages(newest));
  const open = async () => {
    ben.client = await dovetail.Client.create(ben.signer, { dbPath: ben.dbPath, delivery: ben.delivery });
  };
  const closed = async () => {
    await ben.client.close();
    await quiet();
  };
  await closed();
  const opening = await recorded(ben.dbPath, open);
  // What the first background sync reads may already be among them.
  opening.reads = opening.reads.filter(({ store }) => store === "keys" || store === "meta");
  const [opens, openFloor] = [[], []];
  for (let i = 0; i < 2 * ROUNDS; i += 1) {
    await closed();
    opens.push(await timed(open));
    await closed();
    openFloor.push(await timed(() => floorWrites.open(ben.dbPath, opening.reads)));
    await open();
  }
  note("open an existing database", median(opens), median(openFloor), `${asked(opening)}; floor: open it, the same requests in one`);

  // People who are not there: such a conversation is listed until the service can be asked.
  ben.delivery.offline = true;
  for (let i = 0; i < 49; i += 1) {
    await ben.client.conversations.createDm(await dovetail.generateInboxId(dovetail.createEOASigner().getIdentifier()));
  }
  await quiet(2000);
  await reading("list, 50 conversations", () => ben.client.conversations.list());
  return figures;
}

run().then(
  (figures) => (globalThis.benchResult = { figures }),
  (error) => (globalThis.benchResult = { error: `${error?.code ?? ""} ${error?.message ?? error}\n${error?.stack ?? ""}` }),
);
