// Starts the installed Chromium for tests, and drives it with Playwright.
//
// The browser is a process of ours, so that a test can also kill it in the
// middle of a step and start it again on the same profile.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { chromium } from "playwright-core";
import { browsers } from "../../scripts/env.mjs";

const START_MS = 30_000;

const FLAGS = [
  "--headless=new",
  "--remote-debugging-port=0",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--password-store=basic",
  // Pages of one profile talk to each other; those behind must not be slowed down.
  "--disable-background-timer-throttling",
  "--disable-backgrounding-occluded-windows",
  "--disable-renderer-backgrounding",
  // Chromium refuses its sandbox to root.
  ...(process.getuid?.() === 0 ? ["--no-sandbox"] : []),
];

/** A new, empty profile folder; `remove` deletes it. */
export async function newProfile() {
  const path = await mkdtemp(join(tmpdir(), "dovetail-profile-"));
  // Chromium may still be writing for a moment after it ended.
  return { path, remove: () => rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }) };
}

/** The address that a starting Chromium writes into its profile. */
async function debuggerAddress(profile, child) {
  for (const end = Date.now() + START_MS; Date.now() < end; await wait(20)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`Chromium ended at once (${child.exitCode ?? child.signalCode})`);
    const text = await readFile(join(profile.path, "DevToolsActivePort"), "utf8").catch(() => "");
    const [port, path] = text.split("\n");
    if (path) return `ws://127.0.0.1:${port}${path}`;
  }
  throw new Error(`Chromium did not start within ${START_MS / 1000} s`);
}

/**
 * Starts Chromium on a profile: the given one, or one of its own that goes with it.
 *
 * Returns `context` (a Playwright BrowserContext that keeps the profile's data),
 * `close()` for an orderly end and `kill()` for a crash.
 */
export async function openBrowser({ profile, flags = [] } = {}) {
  const executable = browsers().chromium;
  if (!executable) throw new Error("No Chromium found: run `npm run setup`, or name one in CHROME.");
  const home = profile ?? (await newProfile());
  await rm(join(home.path, "DevToolsActivePort"), { force: true });
  const child = spawn(executable, [...FLAGS, ...flags, `--user-data-dir=${home.path}`, "about:blank"], {
    stdio: "ignore",
    // A group of its own: its helper processes end with it.
    detached: true,
  });
  const ended = new Promise((settle) => child.once("close", settle));
  const kill = async () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
    await ended;
    if (!profile) await home.remove();
  };
  try {
    const browser = await chromium.connectOverCDP(await debuggerAddress(home, child));
    const context = browser.contexts()[0];
    const close = async () => {
      const session = await browser.newBrowserCDPSession();
      // The answer may be lost with the connection.
      await session.send("Browser.close").catch(() => {});
      await Promise.race([ended, wait(5_000)]);
      await kill();
    };
    return { context, close, kill };
  } catch (error) {
    await kill();
    throw error;
  }
}
