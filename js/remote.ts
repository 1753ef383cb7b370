// The wasm module in a dedicated worker: takes the place of wasm.ts in the bundle of the worker
// entry. The worker starts with the first call, and anew once it is gone.

import { type Port, type Target, Link, ROOT } from "./bridge.js";
import { Life } from "./crash.js";
import type { Delivery } from "./delivery.js";
import { DovetailError, toDovetailError } from "./errors.js";
import type { RawClient, RawClientOptions, RawModule } from "./raw.js";
import { remoteClient } from "./remote-client.js";
import { Deliveries, type LentDelivery } from "./remote-delivery.js";
import { type Given, type WasmSource, failed, once } from "./source.js";
import type { Instance } from "./wasm.js";

const SCRIPT = "worker-thread.js";

let start = once(load);
/** Where the module was loaded from, for a worker that takes the place of one that is gone. */
let place: unknown;

/** As `init` of wasm.ts; the module is fetched and compiled in the worker. */
export async function init(source?: WasmSource | Promise<WasmSource>): Promise<void> {
  await start(source);
}

/** As `instance` of wasm.ts. @internal */
export async function instance(): Promise<Instance> {
  const host = await start();
  if (host.life.over) host.life = new Life();
  return { module: host.module, life: host.life };
}

async function load(source: Given): Promise<Host> {
  const wanted = (await sendable(await source)) ?? place;
  const host = new Host(spawn());
  try {
    await host.load(wanted);
  } catch (error) {
    const reason = toDovetailError(error);
    host.lose(reason);
    throw reason;
  }
  place = wanted;
  return host;
}

/** A source in a form that a worker can be told. */
async function sendable(source: WasmSource | undefined): Promise<unknown> {
  if (typeof Response === "function" && source instanceof Response) return downloaded(source);
  if (typeof source !== "string" && !(source instanceof URL)) return source;
  // The worker has another address than the page, which relative ones refer to.
  const base = globalThis.document?.baseURI ?? globalThis.location?.href;
  try {
    return new URL(source, base).href;
  } catch {
    // No address at all: the worker tells that it cannot be fetched.
    return String(source);
  }
}

/** What the server sent; the worker judges it. @internal */
export interface Downloaded {
  bytes: ArrayBuffer;
  type: string;
  url: string;
}

async function downloaded(response: Response): Promise<Downloaded> {
  const { status, url, headers } = response;
  if (!response.ok) throw failed(`the server answered ${status}`, url || "the response", undefined, status >= 500);
  try {
    return { bytes: await response.arrayBuffer(), type: headers.get("content-type") ?? "", url };
  } catch (error) {
    throw failed("the download broke off", url || "the response", error, true);
  }
}

function spawn(): Worker {
  if (typeof Worker !== "function") throw failed("this environment has no workers", SCRIPT);
  try {
    // Bundlers look for this very form.
    return new Worker(new URL("./worker-thread.js", import.meta.url), { type: "module" });
  } catch (error) {
    throw notStarted(error instanceof Error ? error.message : String(error), error);
  }
}

const notStarted = (reason: string, cause?: unknown): DovetailError =>
  failed(
    `${reason}; is the file deployed beside the page's script, on the same origin, and does the Content-Security-Policy allow it (worker-src)?`,
    SCRIPT,
    cause,
    true,
  );

/** What a call needs of the app's. */
interface Own {
  delivery: Delivery;
  sign?: RawClientOptions["sign"];
}

/** The same for the worker. */
interface LentOwn {
  delivery: LentDelivery;
  sign: number | undefined;
}

/** A worker and what is known of it. */
class Host {
  life = new Life();
  readonly module: RawModule;
  #worker: Worker;
  #link: Link;
  #deliveries: Deliveries;
  #version = "";
  #up = false;
  #lost = false;
  #onPanic: (message: string) => void = () => {};

  constructor(worker: Worker) {
    this.#worker = worker;
    this.#link = new Link(worker as unknown as Port, this.#told, false);
    this.#deliveries = new Deliveries(this.#link);
    this.module = this.#moduleOf(this.#link);
    this.module.onPanic((message) => this.life.crash(message));
    worker.onerror = (event) => {
      // Later ones are the worker's own errors, which the browser shows like any other.
      if (!this.#up) this.lose(notStarted(event.message || "it did not start"));
    };
    globalThis.addEventListener?.("pageshow", this.#shown);
    globalThis.document?.addEventListener("visibilitychange", this.#shown);
  }

  /** Has the worker load the module. */
  async load(source: unknown): Promise<void> {
    const lock = `dovetail-worker-${Math.random()}`;
    this.#version = await this.#link.call<string>(ROOT, "load", source, lock);
    // Held for as long as the worker lives.
    const watched = globalThis.navigator?.locks?.request(lock, () => this.#died("its worker ended"));
    // Where locks are forbidden nothing else shows it either.
    watched?.catch(() => {});
  }

  /** Gives the worker up; everything that waits for it is rejected. */
  lose(error: DovetailError): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#link.end(error);
    this.#worker.terminate();
    globalThis.removeEventListener?.("pageshow", this.#shown);
    globalThis.document?.removeEventListener("visibilitychange", this.#shown);
  }

  #died(how: string): void {
    if (this.#lost) return;
    start = once(load);
    this.life.crash(how);
    this.lose(
      this.#version
        ? new DovetailError("client.crashed", `the worker is gone (${how}); create the client again`)
        : failed(how, SCRIPT, undefined, true),
    );
  }

  #told: Target = (method, [text]) => {
    if (method === "up") this.#up = true;
    else if (method === "panic") this.#onPanic(text as string);
    else if (method === "damaged") this.#died("a message was damaged");
  };

  #shown = (): void => this.#link.tell(ROOT, "shown");

  #moduleOf(link: Link): RawModule {
    return {
      version: () => this.#version,
      onPanic: (handler) => (this.#onPanic = handler),
      createClient: (options) => this.#createClient(options),
      generateInboxId: (identifier, nonce) => link.call(ROOT, "generateInboxId", identifier, nonce),
      inboxStates: (delivery, ids) => this.#with({ delivery }, (lent) => link.call(ROOT, "inboxStates", lent.delivery, ids)),
      canMessage: (delivery, ids) => this.#with({ delivery }, (lent) => link.call(ROOT, "canMessage", lent.delivery, ids)),
      revokeInstallations: ({ delivery, sign, ...rest }) =>
        this.#with({ delivery, sign }, (lent) => link.call(ROOT, "revokeInstallations", { ...rest, ...lent })),
      signWithKey: (key, text) => link.call(ROOT, "signWithKey", key, text),
    };
  }

  async #createClient({ delivery, sign, ...rest }: RawClientOptions): Promise<RawClient> {
    const { life } = this;
    const { lent, giveBack } = this.#lend({ delivery, sign });
    try {
      const made = await this.#link.call<[number, string, string]>(ROOT, "createClient", { ...rest, ...lent });
      const [at, inboxId, installationId] = made;
      return remoteClient(this.#link, life, { at, inboxId, installationId, giveBack });
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #with<T>(own: Own, call: (lent: LentOwn) => Promise<T>): Promise<T> {
    const { lent, giveBack } = this.#lend(own);
    return call(lent).finally(giveBack);
  }

  /** Lends the worker what is the app's, until it is given back or this life is over. */
  #lend({ delivery, sign }: Own): { lent: LentOwn; giveBack: () => void } {
    const { as, giveBack: giveDelivery } = this.#deliveries.lend(delivery);
    const signer = sign && this.#link.lend((_, [text]) => sign(text as string));
    const giveBack = () => {
      unwatch();
      giveDelivery();
      if (signer !== undefined) this.#link.takeBack(signer);
    };
    const unwatch = this.life.watch(giveBack);
    return { lent: { delivery: as, sign: signer }, giveBack };
  }
}
