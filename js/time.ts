// Times.

/** Nanoseconds since 1970 as a date, to the millisecond. @internal */
export const toDate = (ns: bigint): Date => new Date(Number(ns / 1_000_000n));
