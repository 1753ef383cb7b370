// Compiled, never run: what the bundle of the worker entry puts in the place of other files.

import * as delivery from "../../js/browser-delivery.js";
import * as remoteDelivery from "../../js/remote-delivery.js";
import * as remote from "../../js/remote.js";
import * as wasm from "../../js/wasm.js";
import { type ClientOptions, BrowserDelivery, Client, createEOASigner } from "../../js/worker.js";

export const modules: Pick<typeof wasm, keyof typeof wasm> = remote;
export const deliveries: Pick<typeof delivery, keyof typeof delivery> = remoteDelivery;

const options: ClientOptions = { delivery: new BrowserDelivery({ name: "one" }), dbPath: null };
export const client: Client = await Client.create(createEOASigner(), options);
