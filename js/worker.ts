// The package with its module in a dedicated worker: the same surface as index.ts. In the bundle of
// this entry wasm.ts and browser-delivery.ts have other implementations (scripts/entries.mjs).

export * from "./index.js";
