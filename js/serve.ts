// What runs in the worker: the wasm module, its clients and their delivery services, for the page.

import { type Port, Link, ROOT } from "./bridge.js";
import type { RawClientOptions, RawModule, RawRevocation } from "./raw.js";
import type { Downloaded } from "./remote.js";
import type { LentDelivery } from "./remote-delivery.js";
import { ServedClient } from "./served-client.js";
import { ServedDeliveries } from "./served-delivery.js";
import { type WasmSource, fromResponse } from "./source.js";
import type { Identifier } from "./types.js";
import { init, instance } from "./wasm.js";

type Call = (...args: never[]) => unknown;

/** Serves the page at the other end of a port. @internal */
export function serve(port: Port): void {
  const link: Link = new Link(port, (method, args) => root[method]?.(...(args as never[])), true);
  const deliveries = new ServedDeliveries(link);
  const clients = new Map<number, ServedClient>();
  const root = rootOf(link, deliveries, clients);
  link.tell(ROOT, "up");
}

/**
 * What the page asks of the worker as a whole. Delivery services are looked up before anything is
 * waited for: the messages behind a call may be about them.
 */
function rootOf(link: Link, deliveries: ServedDeliveries, clients: Map<number, ServedClient>): Record<string, Call> {
  const sign = (signer: number) => (text: string) => link.call<Uint8Array>(signer, "sign", text);
  const module = async (): Promise<RawModule> => (await instance()).module;
  return {
    async load(source: WasmSource | Downloaded | undefined, lock: string) {
      await init(isDownloaded(source) ? compiled(source) : source);
      const raw = await module();
      raw.onPanic((message) => link.tell(ROOT, "panic", message));
      await hold(lock);
      return raw.version();
    },
    async createClient({ delivery, sign: signer, ...options }: { delivery: LentDelivery; sign: number | undefined }) {
      const service = deliveries.use(delivery);
      const given = { ...options, delivery: service, sign: signer === undefined ? undefined : sign(signer) };
      const client = await (await module()).createClient(given as RawClientOptions);
      const served = new ServedClient(link, client, (at) => clients.delete(at));
      clients.set(served.at, served);
      return [served.at, client.inboxId, client.installationId];
    },
    /** Of a client that has crashed, or nobody waits for. */
    forget: (at: number) => clients.get(at)?.forget(),
    generateInboxId: async (identifier: Identifier, nonce: bigint) => (await module()).generateInboxId(identifier, nonce),
    async inboxStates(lent: LentDelivery, ids: string[]) {
      const service = deliveries.use(lent);
      return (await module()).inboxStates(service, ids);
    },
    async canMessage(lent: LentDelivery, accounts: Identifier[]) {
      const service = deliveries.use(lent);
      return (await module()).canMessage(service, accounts);
    },
    async revokeInstallations({ delivery, sign: signer, ...rest }: { delivery: LentDelivery; sign: number }) {
      const given = { ...rest, delivery: deliveries.use(delivery), sign: sign(signer) };
      return (await module()).revokeInstallations(given as RawRevocation);
    },
    signWithKey: async (key: Uint8Array, text: string) => (await module()).signWithKey(key, text),
    offline: (at: number, value: boolean) => deliveries.offline(at, value),
    closeDelivery: (at: number) => deliveries.close(at),
    returned: (at: number) => deliveries.returned(at),
    damaged: () => link.tell(ROOT, "damaged"),
    /** Workers do not hear of it themselves. */
    shown: () => void globalThis.dispatchEvent?.(new Event("pageshow")),
  };
}

const isDownloaded = (source: unknown): source is Downloaded => typeof source === "object" && source !== null && "type" in source;

function compiled({ bytes, type, url }: Downloaded): Promise<WebAssembly.Module> {
  return fromResponse(new Response(bytes, { headers: { "content-type": type } }), url);
}

/** Holds a lock for as long as the worker lives. */
function hold(name: string): Promise<void> {
  return new Promise((held) => {
    const asked = globalThis.navigator?.locks?.request(name, () => {
      held();
      return new Promise<void>(() => {});
    });
    // Without locks, or where they are forbidden, nobody waits for this one.
    if (asked) asked.catch(() => held());
    else held();
  });
}
