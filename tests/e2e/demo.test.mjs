// The demo page as people use it: by mouse, by keyboard, on a phone, and where it cannot start.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser } from "../harness/browser.mjs";
import { startDemo } from "../harness/server.mjs";

const PEOPLE = ["ada", "ben"];
const LOG = "dovetail-delivery-dovetail-demo";
const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

let server;
let browser;

before(async () => {
  server = await startDemo();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.close();
});

/** Runs `use` with the page in a browser profile of its own; any error or policy violation fails the test. */
async function inPage(use, { viewport = WIDE, script, ready = "#story:not([hidden])" } = {}) {
  const context = await browser.context.browser().newContext({ viewport, permissions: ["clipboard-read", "clipboard-write"] });
  try {
    const page = await context.newPage();
    const errors = [];
    page.on("pageerror", (error) => errors.push(String(error)));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) errors.push(message.text());
    });
    await page.addInitScript(() => {
      new MutationObserver(() => {
        if (document.querySelector("#broken:not([hidden])")) globalThis.brokenAt ??= performance.now();
      }).observe(document, { subtree: true, childList: true, attributes: true });
      addEventListener("securitypolicyviolation", (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
    });
    if (script) await page.addInitScript(script);
    await page.goto(server.url);
    await page.waitForSelector(ready);
    await use(page);
    assert.deepEqual(errors, []);
  } finally {
    await context.close();
  }
}

const pane = (page, person) => page.locator(`#pane-${person}`);
const rows = (page, person, section) => pane(page, person).locator(`[data-section="${section}"] .row`);
const texts = (page, person) => pane(page, person).locator(".bubble .text").allTextContents();
const phase = (page, name) => page.waitForSelector(`#story[data-phase="${name}"]`);
const step = (page, name) => page.click(`[data-step="${name}"] button`);

/** Waits until what a function of the page gives is true. */
const until = (page, check, arg) => page.waitForFunction(check, arg);

/** Waits until a person's open thread shows so many messages, all of them sent. */
const untilShown = (page, person, count) =>
  until(
    page,
    ([id, count]) => {
      const bubbles = [...document.querySelectorAll(`#pane-${id} .bubble`)];
      return bubbles.length === count && bubbles.every(({ dataset }) => ["sent", "received"].includes(dataset.state));
    },
    [person, count],
  );

async function write(page, person, text) {
  const input = pane(page, person).locator(".composer textarea");
  await input.fill(text);
  await input.press("Enter");
}

async function startChat(page, person) {
  await pane(page, person).locator(".new-chat").click();
  await pane(page, person).locator(".new-form .primary").click();
  await pane(page, person).locator(".composer textarea").waitFor();
}

/** What the inspector says: winner, groups, epochs, authenticators, installation. */
async function inspected(page, person) {
  const drawer = pane(page, person).locator(".inspector");
  if (!(await drawer.isVisible())) await pane(page, person).locator(".inspect").click();
  return drawer.evaluate((element) => {
    const fact = (name) =>
      [...element.querySelectorAll("tbody tr")].filter((row) => row.cells[0].textContent === name).flatMap((row) => [...row.cells].slice(1).map((cell) => cell.textContent));
    const columns = [...element.querySelectorAll("thead th")];
    return {
      groups: columns.map((cell) => cell.querySelector("code").title),
      winner: columns.filter((cell) => cell.querySelector(".badge.winner")).map((cell) => cell.querySelector("code").title),
      epochs: fact("Epoch"),
      authenticators: fact("Authenticator"),
      activity: fact("Last activity"),
      consent: fact("Consent"),
      pending: fact("Pending work"),
      issues: [...element.querySelectorAll(".issues li")].map((item) => item.textContent),
      installation: element.querySelector(".facts").textContent,
    };
  });
}

/** One conversation with both texts on both sides, two groups behind it, and one winner. */
async function checkStitched(page, expected) {
  const seen = [];
  for (const person of PEOPLE) {
    assert.equal(await rows(page, person, "chats").count(), 1, `${person} lists one chat`);
    assert.equal(await rows(page, person, "requests").count(), 0);
    await untilShown(page, person, expected.length);
    assert.deepEqual([...(await texts(page, person))].sort(), [...expected].sort());
    seen.push(await inspected(page, person));
  }
  const [ada, ben] = seen;
  assert.equal(ada.groups.length, 2);
  assert.equal(ada.winner.length, 1);
  for (const name of ["groups", "winner", "epochs", "authenticators", "activity"]) assert.deepEqual(ada[name], ben[name], name);
  for (const { consent, pending, issues } of seen) {
    assert.deepEqual(consent, ["Allowed", "Allowed"]);
    assert.deepEqual(pending, ["–", "–"]);
    assert.deepEqual(issues, []);
  }
  assert.deepEqual(await texts(page, "ada"), await texts(page, "ben"), "the same order");
  return seen;
}

const widerThanWindow = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

/** How many envelopes the log of the demo holds. */
const envelopes = (page) =>
  page.evaluate(async (name) => {
    const done = (request) =>
      new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
      });
    const database = await done(indexedDB.open(name));
    try {
      return await done(database.transaction("envelopes").objectStore("envelopes").count());
    } finally {
      database.close();
    }
  }, LOG);

test("the story by mouse, a reload, and writing on", async () => {
  await inPage(async (page) => {
    await step(page, "offline");
    await phase(page, "write");
    await step(page, "write");
    await phase(page, "online");
    for (const person of PEOPLE) {
      await pane(page, person).locator('.bubble[data-state="waiting"]').waitFor();
      assert.equal((await inspected(page, person)).groups.length, 1);
      await page.keyboard.press("Escape");
    }
    await step(page, "online");
    await phase(page, "done");
    const both = ["Ben, lunch at noon?", "Ada, are you free for lunch?"];
    const before = await checkStitched(page, both);
    assert.match(await page.textContent(".outcome p"), new RegExp(before[0].winner[0].slice(0, 4)));

    await page.reload();
    await phase(page, "done");
    assert.deepEqual(await checkStitched(page, both), before, "the same after a reload, with the same installations");

    await write(page, "ada", "At the usual place");
    await untilShown(page, "ben", 3);
    await write(page, "ben", "See you there");
    await untilShown(page, "ada", 4);
    const [after] = await checkStitched(page, [...both, "At the usual place", "See you there"]);
    assert.deepEqual(after.winner, before[0].winner);
    const last = pane(page, "ben").locator(".bubble .mark");
    assert.deepEqual((await last.allTextContents()).slice(-2), [after.winner[0].slice(0, 4), after.winner[0].slice(0, 4)]);
  });
});

/** Presses Tab until the focus is on an element that matches. */
async function tabTo(page, selector) {
  for (let presses = 0; presses < 60; presses += 1) {
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`Tab does not reach ${selector}`);
}

test("the story by keyboard alone, without the guide", async () => {
  await inPage(async (page) => {
    for (const person of PEOPLE) {
      await tabTo(page, `#pane-${person} .switch`);
      await page.keyboard.press("Space");
    }
    for (const person of PEOPLE) {
      await tabTo(page, `#pane-${person} .new-chat`);
      await page.keyboard.press("Enter");
      await tabTo(page, `#pane-${person} .new-form input`);
      await page.keyboard.press("Enter");
      await tabTo(page, `#pane-${person} .composer textarea`);
      await page.keyboard.type(`${person} writes`);
      await page.keyboard.press("Shift+Enter");
      await page.keyboard.type("two lines");
      await page.keyboard.press("Enter");
      await pane(page, person).locator('.bubble[data-state="waiting"]').waitFor();
    }
    for (const person of PEOPLE) {
      await tabTo(page, `#pane-${person} .switch`);
      await page.keyboard.press("Space");
    }
    await phase(page, "done");
    await checkStitched(page, ["ada writes\ntwo lines", "ben writes\ntwo lines"]);

    await tabTo(page, "#pane-ben .inspector button");
    await page.keyboard.press("Escape");
    assert.ok(await pane(page, "ben").locator(".inspector").isHidden());
    assert.ok(await page.evaluate(() => document.activeElement.matches("#pane-ben .inspect")), "the focus is back where it came from");
  });
});

test("a stranger's message is a request: accept, block, unblock", async () => {
  await inPage(async (page) => {
    await startChat(page, "ada");
    await write(page, "ada", "Hello");
    await rows(page, "ben", "requests").waitFor();
    assert.equal(await rows(page, "ben", "chats").count(), 0);
    assert.equal(await rows(page, "ada", "chats").count(), 1);
    await phase(page, "met");
    await rows(page, "ben", "requests").click();
    const decide = (what) => pane(page, "ben").locator(`[data-decide="${what}"]`).click();
    await decide("allow");
    await rows(page, "ben", "chats").waitFor();
    await write(page, "ben", "Hello Ada");
    // At once, while the message is still on its way.
    await pane(page, "ben").locator(".block").click();
    await rows(page, "ben", "blocked").waitFor({ state: "attached" });
    assert.ok(await pane(page, "ben").locator(".composer").isHidden());
    await decide("allow");
    await rows(page, "ben", "chats").waitFor();

  });
});

/** Opens what can be done about the message with a text, by keyboard, and chooses. */
async function actOn(page, person, text, choice) {
  const bubble = pane(page, person).locator(".bubble", { has: page.locator(".text", { hasText: text }) });
  await bubble.locator(".act").focus();
  await page.keyboard.press("Enter");
  await bubble.locator(".acts").waitFor();
  await bubble.locator(`.acts ${choice}`).focus();
  await page.keyboard.press("Enter");
}

test("reactions, replies, edits and deletions show on both sides, by keyboard", async () => {
  await inPage(async (page) => {
    await startChat(page, "ada");
    await write(page, "ada", "Tea or coffee?");
    await rows(page, "ben", "requests").click();
    await pane(page, "ben").locator('[data-decide="allow"]').click();
    const ada = pane(page, "ada");
    const ben = pane(page, "ben");

    // A reaction, the same of the other side, and one of them taken back.
    await actOn(page, "ben", "Tea or coffee?", '[data-emoji="👍"]');
    const reaction = (person) => pane(page, person).locator('.reaction[data-emoji="👍"]');
    await reaction("ada").waitFor();
    assert.equal(await reaction("ada").getAttribute("aria-label"), "👍 from Ben");
    await reaction("ada").click();
    for (const person of PEOPLE) await until(page, (id) => document.querySelector(`#pane-${id} .reaction`)?.textContent === "👍 2", person);
    assert.equal(await reaction("ben").getAttribute("aria-pressed"), "true");
    await actOn(page, "ben", "Tea or coffee?", '[data-emoji="👍"]');
    for (const person of PEOPLE) await until(page, (id) => document.querySelector(`#pane-${id} .reaction`)?.textContent === "👍", person);
    assert.equal(await reaction("ben").getAttribute("aria-pressed"), "false");

    // A reply; Escape leaves it first.
    await actOn(page, "ben", "Tea or coffee?", '[data-act="reply"]');
    await ben.locator(".about").waitFor();
    await page.keyboard.press("Escape");
    assert.ok(await ben.locator(".about").isHidden());
    await actOn(page, "ben", "Tea or coffee?", '[data-act="reply"]');
    assert.match(await ben.locator(".about").textContent(), /Reply to Ada Tea or coffee\?/);
    await page.keyboard.type("Coffee");
    await page.keyboard.press("Enter");
    await untilShown(page, "ada", 2);
    assert.equal(await ada.locator(".quote:visible").textContent(), "You: Tea or coffee?");
    assert.equal(await ben.locator(".quote:visible").textContent(), "Ada: Tea or coffee?");
    assert.deepEqual(await texts(page, "ada"), ["Tea or coffee?", "Coffee"]);

    // An edit reaches the message and the line above its reply.
    await actOn(page, "ada", "Tea or coffee?", '[data-act="edit"]');
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.type("Tea or juice?");
    await page.keyboard.press("Enter");
    await until(page, () => document.querySelector("#pane-ben .bubble .text").textContent === "Tea or juice?");
    assert.equal(await ben.locator(".bubble .edited").first().textContent(), "Edited");
    assert.equal(await ben.locator(".quote:visible").textContent(), "Ada: Tea or juice?");
    assert.ok(await ben.locator('.bubble:not(.own) [data-act="delete"]').isHidden(), "only own messages");

    await actOn(page, "ada", "Tea or juice?", '[data-act="delete"]');
    for (const person of PEOPLE) {
      await pane(page, person).locator(".bubble.deleted").waitFor();
      assert.deepEqual(await texts(page, person), ["Deleted", "Coffee"]);
      assert.ok(await pane(page, person).locator(".bubble.deleted .act").isHidden());
      assert.equal(await pane(page, person).locator(".bubble.deleted .reaction").count(), 0);
    }
    assert.equal(await pane(page, "ben").locator(".row-last").textContent(), "You: Coffee");
  });
});

test("the inspector shows consent records with their times, and the rule that chose the winner", async () => {
  await inPage(async (page) => {
    for (const name of ["offline", "write", "online"]) await step(page, name);
    await phase(page, "done");
    const { winner, groups } = await inspected(page, "ada");
    const drawer = pane(page, "ada").locator(".inspector");
    const rules = await drawer.locator(".why li").evaluateAll((all) =>
      all.map((item) => [item.querySelector("b").textContent, item.querySelector(".badge").textContent, item.querySelector(".compared").textContent]),
    );
    assert.deepEqual(
      rules.map(([rule, outcome]) => [rule, outcome]),
      [["Live before restored", "equal"], ["Greatest activity", "decides"], ["Greatest id", "not needed"]],
    );
    // What is shown bears out the rule: the winner has the later of the two times.
    const times = new Map([...rules[1][2].matchAll(/([0-9a-f]{4}): (\d\d:\d\d:\d\d\.\d{3})/g)].map(([, id, time]) => [id, time]));
    assert.equal(times.size, 2);
    for (const id of groups) assert.ok(times.get(winner[0].slice(0, 4)) >= times.get(id.slice(0, 4)));

    const records = () => drawer.locator(".consents li").allTextContents();
    const before = await records();
    assert.equal(before.length, 3, "each group, and the inbox");
    for (const [at, id] of groups.entries()) assert.match(before[at], new RegExp(`^Group ${id.slice(0, 4)}: allowed, (at time 0|decided \\d\\d:)`));
    assert.match(before[2], /^Ben’s inbox: no record/);

    await pane(page, "ada").locator(".block").click();
    await until(page, () => [...document.querySelectorAll("#pane-ada .consents li")].filter((item) => /: denied, decided \d\d:/.test(item.textContent)).length === 2);
  });
});

/** Opens Ada's second device from her header, by keyboard. */
async function openSecond(page) {
  await pane(page, "ada").locator(".menu summary").focus();
  await page.keyboard.press("Enter");
  await pane(page, "ada").locator('[data-menu="device"]').focus();
  await page.keyboard.press("Enter");
  await pane(page, "ada-2").waitFor();
}

test("a second device of Ada's: messages reach both, a block made on one appears on the other, a reload keeps it", async () => {
  await inPage(async (page) => {
    await startChat(page, "ada");
    await write(page, "ada", "Hello from one");
    await rows(page, "ben", "requests").click();
    await pane(page, "ben").locator('[data-decide="allow"]').click();
    await openSecond(page);
    assert.ok(await pane(page, "ada").locator('[data-menu="device"]').isDisabled());
    assert.equal(await pane(page, "ada").locator(".inbox").textContent(), await pane(page, "ada-2").locator(".inbox").textContent());
    assert.equal(await page.locator("#pane-ada-2 .who h2").textContent(), "Ada second device");

    // Each side's next message is read by both devices.
    await rows(page, "ada-2", "chats").waitFor();
    await write(page, "ben", "Hello to both");
    await rows(page, "ada-2", "chats").click();
    await pane(page, "ada-2").locator(".bubble .text", { hasText: "Hello to both" }).waitFor();
    await write(page, "ada-2", "From the other one");
    await untilShown(page, "ada", 3);
    assert.deepEqual(await texts(page, "ada"), ["Hello from one", "Hello to both", "From the other one"]);
    assert.ok(await pane(page, "ada").locator(".bubble.own", { hasText: "From the other one" }).isVisible());
    const installations = [];
    for (const device of ["ada", "ada-2"]) {
      installations.push((await inspected(page, device)).installation);
      await page.keyboard.press("Escape");
    }
    assert.notEqual(...installations);

    // Decided offline on one, known on the other once both synced; and back.
    await pane(page, "ada-2").locator(".switch").click();
    await pane(page, "ada-2").locator(".block").click();
    await rows(page, "ada-2", "blocked").waitFor({ state: "attached" });
    assert.equal(await rows(page, "ada", "blocked").count(), 0);
    await pane(page, "ada-2").locator(".switch").click();
    await rows(page, "ada", "blocked").waitFor({ state: "attached" });
    assert.equal(await rows(page, "ada", "chats").count(), 0);
    await pane(page, "ada").locator('[data-decide="allow"]').click();
    // Three panes beside each other show list and thread in turn.
    await rows(page, "ada-2", "chats").waitFor({ state: "attached" });

    await page.reload();
    await pane(page, "ada-2").waitFor();
    await rows(page, "ada-2", "chats").waitFor({ state: "attached" });
    assert.equal(await rows(page, "ada-2", "blocked").count(), 0);
  });
});

test("on a phone the second device is a third side, and the story is told as before", async () => {
  await inPage(
    async (page) => {
      await openSecond(page);
      assert.ok(await pane(page, "ada").isHidden());
      assert.equal(await widerThanWindow(page), false);
      assert.equal(await page.locator("#people button").count(), 3);
      for (const name of ["offline", "write", "online"]) await step(page, name);
      await phase(page, "done");
      await page.click('#people [data-person="ada"]');
      assert.ok(await pane(page, "ada-2").isHidden());
      await untilShown(page, "ada", 2);
      await page.click("#restart");
      await Promise.all([page.waitForNavigation(), page.click('#restart-dialog [value="restart"]')]);
      await page.waitForSelector("#story:not([hidden])");
      assert.equal(await page.locator(".pane").count(), 2);
      const databases = await page.evaluate(async () => (await indexedDB.databases()).map(({ name }) => name));
      assert.ok(!databases.includes("dovetail-demo-ada-2"));
    },
    { viewport: PHONE },
  );
});

/** Saves an archive of a person's from the menu: the path of the file. */
async function saveArchive(page, person) {
  await pane(page, person).locator(".menu summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), pane(page, person).locator('[data-menu="save"]').click()]);
  assert.equal(download.suggestedFilename(), `dovetail-${person}.archive`);
  await pane(page, person).locator(".archive p", { hasText: "Archive saved" }).waitFor();
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Restores a file from the menu, and gives what is said of it in the end. */
async function restoreArchive(page, person, buffer) {
  await pane(page, person).locator(".menu summary").click();
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), pane(page, person).locator('[data-menu="restore"]').click()]);
  await chooser.setFiles({ name: "some.archive", mimeType: "application/octet-stream", buffer });
  await pane(page, person).locator(".archive progress").waitFor({ state: "hidden" });
  return pane(page, person).locator(".archive p").textContent();
}

test("an archive saved on one device is restored on the other, with progress; a foreign or broken one says so", async () => {
  await inPage(async (page) => {
    await startChat(page, "ada");
    await write(page, "ada", "Before the second device");
    await untilShown(page, "ada", 1);
    const saved = await saveArchive(page, "ada");
    await openSecond(page);
    const second = pane(page, "ada-2");
    assert.equal(await second.locator(".bubble").count(), 0);

    assert.match(await restoreArchive(page, "ada-2", Buffer.from("no archive at all")), /archive/i);
    assert.ok(await second.locator(".archive.wrong").isVisible());
    assert.match(await restoreArchive(page, "ben", saved), /Only the person who saved an archive can restore it/);
    assert.equal(await second.locator(".bubble").count(), 0);

    assert.match(await restoreArchive(page, "ada-2", saved), /^Restored: \d+ conversations, messages and decisions/);
    const bar = await second.locator(".archive progress").evaluate(({ value, max }) => [value, max]);
    assert.deepEqual(bar, [saved.length, saved.length], "progress reached the end");
    await rows(page, "ada-2", "chats").click();
    await second.locator(".bubble .text", { hasText: "Before the second device" }).waitFor();
    // Again: nothing is there twice.
    await restoreArchive(page, "ada-2", saved);
    assert.deepEqual(await texts(page, "ada-2"), ["Before the second device"]);

    // And the chat goes on.
    await rows(page, "ben", "requests").click();
    await write(page, "ben", "After it");
    await second.locator(".bubble .text", { hasText: "After it" }).waitFor();
    assert.deepEqual(await texts(page, "ada-2"), ["Before the second device", "After it"]);
    assert.equal(await rows(page, "ada-2", "chats").count(), 1);
  });
});

test("arrow keys move through the list, and a chat with nobody fails readably", async () => {
  await inPage(async (page) => {
    const ben = pane(page, "ben");
    await ben.locator(".switch").click();
    for (const peer of [undefined, "0".repeat(64)]) {
      await ben.locator(".new-chat").click();
      if (peer) await ben.locator(".new-form input").fill(peer);
      await page.keyboard.press("Enter");
      await ben.locator(".new-form").waitFor({ state: "hidden" });
      await write(page, "ben", "Is anybody there?");
      await ben.locator('.bubble[data-state="waiting"]').waitFor();
    }
    await until(page, () => document.querySelectorAll("#pane-ben .row").length === 2);
    const focused = () => page.evaluate(() => [...document.querySelectorAll("#pane-ben .row")].indexOf(document.activeElement));
    await rows(page, "ben", "chats").first().focus();
    for (const [key, at] of [["ArrowDown", 1], ["ArrowDown", 1], ["Home", 0], ["End", 1], ["ArrowUp", 0]]) {
      await page.keyboard.press(key);
      assert.equal(await focused(), at, key);
    }
    assert.deepEqual(await rows(page, "ben", "chats").evaluateAll((all) => all.map((row) => row.tabIndex)), [0, -1]);

    await ben.locator(".switch").click();
    await ben.locator('.bubble[data-state="failed"]').waitFor();
    assert.match(await ben.locator(".bubble .state").textContent(), /nobody has this inbox id/);
    await until(page, () => document.querySelectorAll("#pane-ben .row").length === 1);
  });
});

test("BR-014 typing a peer, opening the chat and leaving it creates nothing", async () => {
  await inPage(async (page) => {
    const peer = await page.evaluate(async () => {
      document.querySelector("#pane-ben .inbox").click();
      await new Promise((resolve) => setTimeout(resolve, 200));
      return navigator.clipboard.readText();
    });
    assert.match(peer, /^[0-9a-f]{64}$/);
    const before = await envelopes(page);
    const form = pane(page, "ada").locator(".new-form");
    await pane(page, "ada").locator(".new-chat").click();
    await form.locator("input").fill("");
    await form.locator("input").pressSequentially(peer);
    assert.equal(await form.locator(".hint").textContent(), "This is Ben.");
    await page.keyboard.press("Enter");
    await pane(page, "ada").locator(".composer textarea").fill("not sent");
    await page.reload();
    await page.waitForSelector("#story:not([hidden])");
    assert.equal(await envelopes(page), before);
    for (const person of PEOPLE) assert.equal(await pane(page, person).locator(".row").count(), 0);

    // Wrong ids are told in the form.
    await pane(page, "ada").locator(".new-chat").click();
    await form.locator("input").fill("not an id");
    await page.keyboard.press("Enter");
    await form.and(page.locator(".wrong")).waitFor();
    await page.keyboard.press("Escape");
    assert.ok(await form.isHidden());
  });
});

test("on a phone one person at a time, nothing wider than the screen", async () => {
  await inPage(
    async (page) => {
      const check = async () => assert.equal(await widerThanWindow(page), false);
      await check();
      for (const name of ["offline", "write", "online"]) {
        await step(page, name);
        await check();
      }
      await phase(page, "done");
      await page.click(".outcome button");
      await pane(page, "ada").locator(".inspector").waitFor();
      await check();
      assert.ok(await pane(page, "ben").isHidden());
      await page.click('#people [data-person="ben"]');
      assert.ok(await pane(page, "ada").isHidden());
      await untilShown(page, "ben", 2);
      await pane(page, "ben").locator(".back").click();
      await rows(page, "ben", "chats").waitFor();
      await pane(page, "ben").locator(".new-chat").click();
      await check();
    },
    { viewport: PHONE },
  );
});

test("an envelope that is refused shows in the inspector of both", async () => {
  await inPage(async (page) => {
    await startChat(page, "ada");
    await write(page, "ada", "Hello");
    await rows(page, "ben", "requests").click();
    const [groupId] = (await inspected(page, "ada")).groups;
    await inspected(page, "ben");
    await page.evaluate(async (id) => {
      const { BrowserDelivery } = await import("/dist/index.js");
      const delivery = new BrowserDelivery({ name: "dovetail-demo" });
      const payload = new TextEncoder().encode("no envelope at all");
      const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", payload));
      await delivery.publish([{ topic: `00${id}`, payload, hash }]);
      await delivery.close();
    }, groupId);
    await write(page, "ada", "Still here");
    for (const person of PEOPLE) {
      await untilShown(page, person, 2);
      await pane(page, person).locator(".issues li").waitFor();
      assert.match(await pane(page, person).locator(".issues li").textContent(), new RegExp(`^${groupId.slice(0, 4)} rejected envelope \\d+ \\(`));
    }
  });
});

test("starting over deletes both people", async () => {
  await inPage(async (page) => {
    const inboxes = () => page.locator(".inbox").allTextContents();
    await startChat(page, "ada");
    await write(page, "ada", "Hello");
    await rows(page, "ben", "requests").waitFor();
    const before = await inboxes();
    await page.click("#restart");
    await page.keyboard.press("Escape");
    assert.deepEqual(await inboxes(), before, "Escape deletes nothing");
    await page.click("#restart");
    await Promise.all([page.waitForNavigation(), page.click('#restart-dialog [value="restart"]')]);
    await page.waitForSelector("#story:not([hidden])");
    await phase(page, "offline");
    for (const person of PEOPLE) assert.equal(await pane(page, person).locator(".row").count(), 0);
    assert.equal(before.filter((inbox) => inbox === "copied").length, 0);
    const now = await inboxes();
    assert.ok(before.every((inbox) => !now.includes(inbox)));
  });
});

for (const [what, script, said] of [
  ["BR-105 without WebAssembly", () => void delete globalThis.WebAssembly, /WebAssembly/],
  ["BR-061 without IndexedDB", () => void Object.defineProperty(globalThis, "indexedDB", { value: undefined }), /store data/],
  [
    "BR-061 where opening a database throws",
    () => {
      IDBFactory.prototype.open = () => {
        throw new DOMException("A mutation operation was attempted", "InvalidStateError");
      };
    },
    /store data/,
  ],
  [
    "BR-061 where opening a database fails",
    () => {
      IDBFactory.prototype.open = () => {
        const opening = new EventTarget();
        opening.error = new DOMException("A mutation operation was attempted", "InvalidStateError");
        setTimeout(() => {
          const event = new Event("error");
          opening.onerror?.(event);
          opening.dispatchEvent(event);
        });
        return opening;
      };
    },
    /store data/,
  ],
]) {
  test(`${what} the page says so within a second`, async () => {
    await inPage(
      async (page) => {
        const broken = page.locator("#broken");
        await broken.waitFor();
        // Counted from when the page's script is there: starting a browser is no part of it.
        const took = await page.evaluate(() => {
          const [script] = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/app.js"));
          return globalThis.brokenAt - script.responseEnd;
        });
        assert.ok(took < 1_000, `after ${took} ms`);
        assert.match(await broken.locator("p").first().textContent(), said);
        assert.ok(await page.locator("#starting").isHidden());
      },
      { script, ready: "h1" },
    );
  });
}
