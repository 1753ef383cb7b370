// Calls that need the module and no client.

import { toDovetailError } from "./errors.js";
import type { RawModule } from "./raw.js";
import { instance } from "./wasm.js";

/** Runs one; it always settles, and rejects with a DovetailError. @internal */
export async function withModule<T>(call: (module: RawModule) => Promise<T>): Promise<T> {
  try {
    const { module, life } = await instance();
    return await life.run(() => call(module));
  } catch (error) {
    throw toDovetailError(error);
  }
}
