// The one error type of the package, its codes, and how raw errors become it.

/**
 * Stable codes of {@link DovetailError}. A later version may add codes; it never renames one.
 *
 * | code | what happened |
 * |---|---|
 * | `input.invalid` | an argument has the wrong type or form; nothing was done |
 * | `wasm.unsupported` | this environment has no WebAssembly |
 * | `wasm.load_failed` | the wasm module could not be fetched or compiled; the message names the URL |
 * | `client.closed` | the client was closed; create it again |
 * | `client.crashed` | a bug stopped the client; creating it again goes on from what was stored |
 * | `client.insecure_context` | no WebCrypto here and no `dbEncryptionKey` given |
 * | `client.no_signer` | the call needs the signer, and the client was built without one |
 * | `client.not_registered` | register the client first |
 * | `signer.failed` | the signer threw or refused; `cause` is what it threw |
 * | `signer.invalid` | the signature is not one of the signer's account |
 * | `identity.not_found` | no inbox has this identifier |
 * | `identity.rejected` | an identity update breaks the rules for its inbox |
 * | `identity.too_many_installations` | the inbox has 10 installations; revoke one first |
 * | `dm.self` | a DM needs another inbox than the own one |
 * | `dm.unknown_inbox` | the peer has no inbox, or no installation to write to |
 * | `conversation.not_found` | no conversation with this id is stored |
 * | `conversation.inactive` | the own inbox is no longer a member; history stays readable |
 * | `conversation.held` | the conversation waits for something; the message says for what |
 * | `conversation.paused` | the conversation needs a newer version of this package |
 * | `message.empty` | there is nothing to send |
 * | `message.too_large` | the content is larger than 1 MiB |
 * | `commit.rejected` | a change was refused by the rules of the conversation |
 * | `store.quota` | the browser's storage is full; what was stored is untouched |
 * | `store.closed` | the browser closed the database; create the client again |
 * | `store.newer` | the database was written by a newer version of this package |
 * | `store.blocked` | another tab keeps an older version of the database open |
 * | `store.unavailable` | the browser does not let this page store data |
 * | `store.wrong_key` | the database was sealed with another key |
 * | `store.corrupt` | stored data is damaged |
 * | `store.failed` | the browser's database failed |
 * | `delivery.unavailable` | the delivery service cannot be reached |
 * | `delivery.refused` | the delivery service refused the request for good |
 * | `delivery.invalid` | the delivery service broke its contract; its answer was dropped |
 * | `stream.failed` | a stream broke and its retries are used up |
 * | `stream.invalid_retry_attempts` | `retryAttempts` is negative |
 * | `internal` | a bug in this package |
 */
export type ErrorCode =
  | "input.invalid"
  | "wasm.unsupported"
  | "wasm.load_failed"
  | "client.closed"
  | "client.crashed"
  | "client.insecure_context"
  | "client.no_signer"
  | "client.not_registered"
  | "signer.failed"
  | "signer.invalid"
  | "identity.not_found"
  | "identity.rejected"
  | "identity.too_many_installations"
  | "dm.self"
  | "dm.unknown_inbox"
  | "conversation.not_found"
  | "conversation.inactive"
  | "conversation.held"
  | "conversation.paused"
  | "message.empty"
  | "message.too_large"
  | "commit.rejected"
  | "store.quota"
  | "store.closed"
  | "store.newer"
  | "store.blocked"
  | "store.unavailable"
  | "store.wrong_key"
  | "store.corrupt"
  | "store.failed"
  | "delivery.unavailable"
  | "delivery.refused"
  | "delivery.invalid"
  | "stream.failed"
  | "stream.invalid_retry_attempts"
  | "internal";

/** Further fields of a {@link DovetailError}. */
export interface DovetailErrorOptions {
  /** Whether the same call may succeed later without a change; default false. */
  retryable?: boolean;
  /** What caused it, for example what a signer threw. */
  cause?: unknown;
}

/**
 * Every error this package rejects with. Tell errors apart by `code`: messages are for people and
 * may change. A message never contains keys or message text.
 */
export class DovetailError extends Error {
  /** What went wrong; see {@link ErrorCode}. */
  readonly code: ErrorCode;
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean;

  static {
    this.prototype.name = "DovetailError";
  }

  constructor(code: ErrorCode, message: string, options: DovetailErrorOptions = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.retryable = options.retryable ?? false;
  }
}

/** The call needs a signature, and the client was made by `Client.build`. */
export class SignerUnavailableError extends DovetailError {
  static {
    this.prototype.name = "SignerUnavailableError";
  }

  constructor() {
    super("client.no_signer", "Signer unavailable, use Client.create to create a client with a signer");
  }
}

/** A stream broke and its retries are used up. */
export class StreamFailedError extends DovetailError {
  static {
    this.prototype.name = "StreamFailedError";
  }

  constructor(retries: number, options: DovetailErrorOptions = {}) {
    super("stream.failed", `Stream failed, retried ${retries} ${retries === 1 ? "time" : "times"}`, options);
  }
}

/** `retryAttempts` of a stream is negative although it should retry. */
export class StreamInvalidRetryAttemptsError extends DovetailError {
  static {
    this.prototype.name = "StreamInvalidRetryAttemptsError";
  }

  constructor() {
    super("stream.invalid_retry_attempts", "Stream retry attempts must be greater than 0");
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/**
 * The public error for anything caught at the boundary to wasm, where errors are plain
 * `{ code, message, retryable }` objects.
 *
 * @internal
 */
export function toDovetailError(error: unknown): DovetailError {
  if (error instanceof DovetailError) return error;
  if (isRecord(error) && typeof error["code"] === "string" && typeof error["message"] === "string") {
    const options: DovetailErrorOptions = { retryable: error["retryable"] === true };
    if (error["cause"] !== undefined) options.cause = error["cause"];
    return new DovetailError(error["code"] as ErrorCode, error["message"], options);
  }
  const text = isRecord(error) && typeof error["message"] === "string" ? error["message"] : String(error);
  return new DovetailError("internal", `unexpected failure: ${text}; please report it`, { cause: error });
}

/**
 * Whether an error ends its client for good, so that trying again is pointless.
 *
 * @internal
 */
export const isFinal = (error: unknown): boolean =>
  error instanceof DovetailError && (error.code === "client.closed" || error.code === "client.crashed");
