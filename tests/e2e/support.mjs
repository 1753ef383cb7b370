// People in pages: each has a client of the built package, a database and a link to one log.

import { deepEqual } from "node:assert/strict";
import { after, before } from "node:test";
import { newProfile, openBrowser } from "../harness/browser.mjs";
import { startServer } from "../harness/server.mjs";

/**
 * Starts server and browser for a file of tests; ends them with it.
 *
 * @param options.entry The file of the package that pages load.
 */
export function world({ entry = "index" } = {}) {
  const state = {};
  before(async () => {
    state.server = await startServer();
    state.profile = await newProfile();
    state.browser = await openBrowser({ profile: state.profile });
  });
  after(async () => {
    await state.browser?.close();
    await state.server?.close();
    await state.profile?.remove();
  });
  return {
    /** Runs in a fresh page with the package; nothing may go unhandled there. */
    async inPage(run, arg) {
      const page = await this.page();
      const out = await page.evaluate(run, arg);
      deepEqual(page.errors, []);
      await page.close();
      return out;
    },
    /** A fresh page with an entry of the package loaded and the helpers below as `me`. */
    async page(file = entry) {
      const page = await state.browser.context.newPage();
      page.errors = [];
      page.on("pageerror", (error) => page.errors.push(String(error)));
      page.on("console", (message) => message.type() === "error" && page.errors.push(message.text()));
      page.entry = file;
      await load(page, state.server.url);
      return page;
    },
    reload: (page) => load(page, state.server.url),
    get url() {
      return state.server.url;
    },
    /** The browser is killed and starts again on the same profile. */
    async kill() {
      await state.browser.kill();
      state.browser = await openBrowser({ profile: state.profile });
    },
  };
}

async function load(page, url) {
  await page.goto(url);
  await page.evaluate(async (entry) => {
    const dovetail = await import(`/dist/${entry}.js`);
    const people = {};
    globalThis.dovetail = dovetail;
    globalThis.people = people;

    /** How far this page's clock is off, in milliseconds. */
    globalThis.clockMs = 0;
    const clock = Date.now.bind(Date);
    Date.now = () => clock() + globalThis.clockMs;

    /** Waits until something is so; what is not so in time is left to the assertions behind it. */
    globalThis.until = async (check, ms = 10_000) => {
      for (const end = clock() + ms; !(await check()) && clock() < end; ) await new Promise((next) => setTimeout(next, 50));
    };

    /**
     * Opens a person's client, kept `as` this name; the wallet key comes from the name, so that a reload is the same
     * person. `handed` counts what it handed to the service, unless it is to be left as it is made.
     */
    globalThis.open = async (name, { log, as = name, dbPath = `db-${log}-${as}`, offline = false, counted = true, ...options } = {}) => {
      const delivery = new dovetail.BrowserDelivery({ name: `log-${log}` });
      delivery.offline = offline;
      const person = { delivery, dbPath, handed: 0 };
      const publish = delivery.publish.bind(delivery);
      const counting = async (batch) => {
        const receipts = await publish(batch);
        person.handed += batch.length;
        return receipts;
      };
      if (counted) delivery.publish = counting;
      const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${log} ${name}`)));
      const signer = dovetail.createEOASigner(bytes);
      const client = await dovetail.Client.create(signer, { delivery, dbPath, ...options });
      people[as] = Object.assign(person, { client, signer });
      return { inboxId: client.inboxId, installationId: client.installationId, account: client.accountIdentifier.identifier };
    };

    /** What a person sees: the list, and each conversation's texts. */
    globalThis.view = async (name) => {
      const { client } = people[name];
      const list = await client.conversations.list();
      return Promise.all(
        list.map(async (conversation) => {
          const inspection = await conversation.inspect();
          return {
            id: conversation.id,
            dmId: inspection.dmId,
            groups: inspection.groups.map((group) => group.groupId).sort(),
            winner: inspection.groups.find((group) => group.isWinner)?.groupId,
            rejected: inspection.groups.flatMap((group) => group.rejected),
            pending: inspection.groups.reduce((sum, group) => sum + group.pendingIntents.length, 0),
            consent: await conversation.consentState(),
            texts: (await conversation.messages()).map((message) => message.content),
            sentIn: (await conversation.messages()).map((message) => message.groupId),
          };
        }),
      );
    };

    /** Texts of a conversation as read through one group id. */
    globalThis.textsThrough = async (name, groupId) => {
      const conversation = await people[name].client.conversations.getConversationById(groupId);
      return (await conversation.messages()).map((message) => message.content);
    };
  }, page.entry);
}

/** Runs a call that must reject, and gives the error as a plain object. */
export const failure = (page, run, arg) =>
  page.evaluate(
    async ([source, arg]) => {
      try {
        // eslint-disable-next-line no-eval -- the function comes from the test
        await (0, eval)(`(${source})`)(arg);
      } catch (error) {
        return { name: error.name, code: error.code, message: error.message, retryable: error.retryable };
      }
      return undefined;
    },
    [run.toString(), arg],
  );
