// Archive files, in a module of its own with its wasm: loaded by the first call that needs it.
//
// It works in batches, each a short task, and lets the page go on in between. Errors are plain
// `{ code, message, retryable }`, or of a class of this file alone: who calls it makes the package's
// own of them.

import initGlue, { ArchiveReader, ArchiveWriter } from "./wasm/dovetail_archive.js";

import * as check from "./check.js";
import type { Core } from "./core.js";
import { BackupElementSelectionOption } from "./enums.js";
import type { ArchiveMetadata, ArchiveOptions, ArchiveProgress, ImportArchiveOptions } from "./types.js";

/** Rows read from the database at once, fewer where they are long. */
const ROWS = 64;
const CHUNK_BYTES = 256 * 1024;
/** Elements applied at once: as many as take about so long, which is more than a task of them. */
const FEWEST = 16;
const MOST = 256;
const BATCH_MS = 24;
/** The page is let on after so many milliseconds. */
const TURN_MS = 12;

/** What a database holds for archives, in the order it goes into one. */
const PARTS = { groups: 0, messages: 1, consent: 2 };

const NONE = new Uint8Array();

const selections = check.list(check.member<BackupElementSelectionOption>(BackupElementSelectionOption));

/** Starts the wasm module. */
export async function start(module: WebAssembly.Module): Promise<void> {
  await initGlue({ module_or_path: module });
}

export async function create(core: Core, options: ArchiveOptions, key: Uint8Array): Promise<Uint8Array> {
  const given = check.object(options, "options");
  const elements = check.optional(given["elements"], "options.elements", selections);
  const startNs = check.optional(given["startNs"], "options.startNs", check.bigint);
  const endNs = check.optional(given["endNs"], "options.endNs", check.bigint);
  const exclude = check.optional(
    given["excludeDisappearingMessages"],
    "options.excludeDisappearingMessages",
    check.boolean,
  );
  const wants = (element: BackupElementSelectionOption) => elements?.includes(element) ?? true;
  const messages = wants(BackupElementSelectionOption.Messages);
  const consent = wants(BackupElementSelectionOption.Consent);
  const writer = new ArchiveWriter(
    check.bytes(key, "key"),
    crypto.getRandomValues(new Uint8Array(12)),
    BigInt(Date.now()) * 1_000_000n,
    messages,
    consent,
    startNs,
    endNs,
    exclude ?? false,
  );
  const archive: Uint8Array[] = [];
  const turn = turns();
  const add = async (part: number) => {
    let from: Uint8Array | undefined;
    let limit = ROWS;
    do {
      const [rows, next]: [Uint8Array, Uint8Array?] = await core.call((raw) => raw.archiveRows(part, from, limit));
      archive.push(writer.add(rows));
      from = next;
      limit = Math.min(ROWS, Math.max(1, Math.floor((limit * CHUNK_BYTES) / (rows.length + 1))));
      await turn();
    } while (from);
  };
  try {
    if (messages) {
      await add(PARTS.groups);
      await add(PARTS.messages);
    }
    if (consent) await add(PARTS.consent);
  } catch (error) {
    writer.free();
    throw error;
  }
  archive.push(writer.finish());
  return joined(archive);
}

export async function restore(
  core: Core,
  archive: Uint8Array,
  key: Uint8Array,
  options: ImportArchiveOptions,
): Promise<void> {
  const onProgress = check.object(options, "options")["onProgress"] as ImportArchiveOptions["onProgress"];
  const reader = opened(archive, key);
  const turn = turns();
  let begun = false;
  let limit = FEWEST;
  try {
    for (;;) {
      const since = performance.now();
      const rows: Uint8Array | undefined = reader.read(limit);
      begun ||= rows !== undefined && rows.length > 0;
      await core.call((raw) => raw.importRows(rows ?? NONE, rows ? undefined : true));
      tell(onProgress, { readBytes: reader.position, totalBytes: archive.length, elements: reader.count });
      if (!rows) return;
      const slow = performance.now() - since > BATCH_MS;
      limit = slow ? Math.max(FEWEST, limit >> 1) : Math.min(MOST, limit * 2);
      await turn();
    }
  } catch (error) {
    // What was stored is announced; why it is not more is what the caller is told.
    if (begun) await core.call((raw) => raw.importRows(NONE, false)).catch(() => {});
    throw error;
  } finally {
    reader.free();
  }
}

export async function metadata(archive: Uint8Array, key: Uint8Array): Promise<ArchiveMetadata> {
  const reader = opened(archive, key);
  try {
    return check.present<ArchiveMetadata>({
      backupVersion: reader.version,
      elements: Array.from(reader.elements, (number) => number - 1).filter(
        (element) => BackupElementSelectionOption[element] !== undefined,
      ),
      exportedAtNs: reader.exportedAtNs,
      startNs: reader.startNs,
      endNs: reader.endNs,
    });
  } finally {
    reader.free();
  }
}

function opened(archive: Uint8Array, key: Uint8Array): ArchiveReader {
  return new ArchiveReader(check.bytes(archive, "archive"), check.bytes(key, "key"));
}

/** Lets the page go on when it had to wait for a while. */
function turns(): () => Promise<void> {
  let begun = performance.now();
  return async () => {
    if (performance.now() - begun < TURN_MS) return;
    await new Promise((go) => setTimeout(go));
    begun = performance.now();
  };
}

/** What a callback throws does not end an import. */
function tell(onProgress: ImportArchiveOptions["onProgress"], progress: ArchiveProgress): void {
  try {
    onProgress?.(progress);
  } catch (error) {
    if (typeof reportError === "function") reportError(error);
    else console.error(error);
  }
}

function joined(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
