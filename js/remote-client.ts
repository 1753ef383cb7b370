// A client in the worker, as the classes of the page know clients.

import { type Link, ROOT } from "./bridge.js";
import type { Life } from "./crash.js";
import type { RawEvent, RawTaken } from "./raw-readers.js";
import type { RawClient, RawSubscription } from "./raw.js";

/** A client that the worker lends. @internal */
export interface Lent {
  at: number;
  inboxId: string;
  installationId: string;
  /** Gives back what was lent to the worker for it. */
  giveBack: () => void;
}

/**
 * All methods but those that hand out something more go to the worker as they are.
 *
 * @internal
 */
export function remoteClient(link: Link, life: Life, { at, inboxId, installationId, giveBack }: Lent): RawClient {
  const listeners = new Set<number>();
  const waiting = new Set<Promise<unknown>>();
  const forget = (listener: number) => {
    listeners.delete(listener);
    link.takeBack(listener);
  };
  const release = () => {
    unwatch();
    giveBack();
    for (const listener of [...listeners]) forget(listener);
  };
  // Also of one that was made after a crash which was not known here yet: nobody waits for it.
  const unwatch = life.watch(() => {
    release();
    link.tell(ROOT, "forget", at);
  });
  const own: Partial<RawClient> = {
    inboxId,
    installationId,
    close: async () => {
      try {
        await link.call(at, "close");
      } finally {
        // Calls under way are answered as far as they come, and need what was lent for that.
        void Promise.allSettled(waiting).then(release);
      }
    },
    subscribe: async (filter, listener) => {
      const told = link.lend((_, [event]) => listener(event as RawEvent));
      listeners.add(told);
      try {
        const subscription = await link.call<number>(at, "subscribe", filter, told);
        return {
          end: () => {
            forget(told);
            link.tell(subscription, "end");
          },
        } satisfies RawSubscription;
      } catch (error) {
        forget(told);
        throw error;
      }
    },
    events: (filter, callback) => taken(link, link.call(at, "events", filter, callback)),
    consume: (selection) => taken(link, link.call(at, "consume", selection)),
    replay: (cursor, selection) => taken(link, link.call(at, "replay", cursor, selection)),
    replayRecent: (id, count) => taken(link, link.call(at, "replayRecent", id, count)),
  };
  return new Proxy(own as RawClient, {
    get: (target, name) => {
      // Whoever resolves a promise with a client asks for `then`.
      if (typeof name !== "string" || name === "then" || name in target) return Reflect.get(target, name) as unknown;
      return (...args: unknown[]) => {
        const call = link.call(at, name, ...args);
        waiting.add(call);
        const settled = () => waiting.delete(call);
        call.then(settled, settled);
        return call;
      };
    },
  });
}

async function taken<T>(link: Link, opened: Promise<[at: number, acknowledges: boolean]>): Promise<RawTaken<T>> {
  const [at, acknowledges] = await opened;
  return {
    next: () => link.call<T | undefined>(at, "next"),
    ...(acknowledges && { acknowledge: () => link.call<void>(at, "acknowledge") }),
    end: () => link.tell(at, "end"),
  };
}
