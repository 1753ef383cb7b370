// The one error type of the package, its codes, and how raw errors become it.

/**
 * Stable codes of {@link DovetailError}. A later version may add codes; it never renames one.
 *
 * | code | what happened |
 * |---|---|
 * | `archive.altered` | an element of the archive was altered; what came before it is imported |
 * | `archive.key` | the key does not open the archive, or does not have 32 bytes |
 * | `archive.malformed` | the bytes are no archive that can be read |
 * | `archive.rule` | the archive holds what the rules do not allow; what came before it is imported |
 * | `archive.truncated` | the archive ends too early; what there is of it is imported |
 * | `archive.version` | the archive was made by a newer version; nothing of it was read |
 * | `bug.internal` | a bug in this package; please report it |
 * | `client.closed` | the client was closed; create it again |
 * | `client.crashed` | a bug stopped the client; creating it again goes on from what was stored |
 * | `client.insecure_context` | no WebCrypto here, which attachments need, and the database unless `dbEncryptionKey` is given: serve the page over HTTPS or from localhost |
 * | `client.installation_revoked` | this installation was revoked; history stays readable, a client with another `dbPath` joins anew |
 * | `client.no_signer` | the call needs the signer, and the client was built without one |
 * | `client.not_registered` | register the client first |
 * | `client.other_account` | the database belongs to another account |
 * | `client.signature` | the signer did not sign, or with another account; `cause` is what it threw |
 * | `commit.contended` | other members' changes came first each time; the change goes on in the background |
 * | `commit.rejected` | a change was refused by the rules of the conversation |
 * | `consent.unknown_entity` | the entity is no conversation id or inbox id |
 * | `content.decrypt` | the secret parts that came with a remote attachment do not open it; ask its sender to send it again |
 * | `content.digest_mismatch` | a downloaded file is not the one that was sent; download it again |
 * | `content.malformed` | the content is not what its type says, or cannot be decompressed; show the fallback |
 * | `content.reserved_type` | apps cannot send this content type |
 * | `content.too_large` | the content decompresses to more than 16 MiB, or a list of messages to more than 64 MiB; read the message alone or show the fallback |
 * | `content.unknown_type` | no codec knows the content type; pass one to the client or show the fallback |
 * | `conversation.not_found` | no conversation with this id is stored |
 * | `delivery.invalid` | the delivery service broke its contract; its answer was dropped |
 * | `delivery.refused` | the delivery service refused the request for good |
 * | `delivery.unavailable` | the delivery service cannot be reached |
 * | `dm.no_installation` | the other inbox has no device that can be added now |
 * | `dm.self` | a DM needs another inbox than the own one |
 * | `dm.unknown_inbox` | the other inbox does not exist |
 * | `group.dm` | the two inboxes of a DM are fixed |
 * | `group.held` | the conversation waits for something; the message says for what |
 * | `group.leave_alone` | the last member cannot leave |
 * | `group.leave_dm` | a DM cannot be left; block it instead |
 * | `group.leave_super_admin` | a super admin cannot leave; have the role taken away first |
 * | `group.limit` | the group would have more than 250 inboxes, or more installations than a Welcome of 1 MiB can hold |
 * | `group.no_installation` | none of the inboxes to add has a device that can be added now |
 * | `group.not_a_member` | the own installation is not in the conversation; history stays readable |
 * | `group.paused` | the conversation needs a newer version of this package |
 * | `group.permission_denied` | the policies of the group do not let this member do that |
 * | `group.self` | a member cannot remove its own inbox; it asks with `requestRemoval()` |
 * | `group.unknown_inbox` | an inbox to add, or to remove by its account, does not exist |
 * | `group.unknown_member` | the inbox is no member of the group |
 * | `identity.invalid` | an identity update breaks the rules for its inbox |
 * | `identity.limit` | the inbox has its greatest number of installations; revoke one first with the static `Client.revokeInstallations` |
 * | `input.id` | an id is malformed |
 * | `input.identifier` | an account identifier is malformed |
 * | `input.value` | an argument has the wrong type or form; nothing was done |
 * | `message.empty` | there is nothing to send |
 * | `message.not_found` | no message with this id is stored |
 * | `message.too_large` | the content is larger than 1,032,192 bytes (1 MiB less room for the envelope) |
 * | `store.blocked` | another tab keeps an older version of the database open |
 * | `store.closed` | the browser closed the database; create the client again |
 * | `store.corrupt` | stored data is damaged |
 * | `store.failed` | the browser's database failed |
 * | `store.newer` | the database was written by a newer version of this package |
 * | `store.quota` | the browser's storage is full; what was stored is untouched |
 * | `store.unavailable` | the browser does not let this page store data |
 * | `store.wrong_key` | the database was sealed with another key |
 * | `stream.failed` | a stream broke and its retries are used up |
 * | `stream.foreign_cursor` | the cursor is of another database; begin without one |
 * | `stream.invalid_retry_attempts` | `retryAttempts` is negative |
 * | `stream.owned` | another tab or client has the durable stream of this database |
 * | `wasm.load_failed` | the wasm module could not be fetched or compiled; the message names the URL |
 * | `wasm.unsupported` | this environment has no WebAssembly |
 */
export type ErrorCode =
  | "archive.altered"
  | "archive.key"
  | "archive.malformed"
  | "archive.rule"
  | "archive.truncated"
  | "archive.version"
  | "bug.internal"
  | "client.closed"
  | "client.crashed"
  | "client.insecure_context"
  | "client.installation_revoked"
  | "client.no_signer"
  | "client.not_registered"
  | "client.other_account"
  | "client.signature"
  | "commit.contended"
  | "commit.rejected"
  | "consent.unknown_entity"
  | "content.decrypt"
  | "content.digest_mismatch"
  | "content.malformed"
  | "content.reserved_type"
  | "content.too_large"
  | "content.unknown_type"
  | "conversation.not_found"
  | "delivery.invalid"
  | "delivery.refused"
  | "delivery.unavailable"
  | "dm.no_installation"
  | "dm.self"
  | "dm.unknown_inbox"
  | "group.dm"
  | "group.held"
  | "group.leave_alone"
  | "group.leave_dm"
  | "group.leave_super_admin"
  | "group.limit"
  | "group.no_installation"
  | "group.not_a_member"
  | "group.paused"
  | "group.permission_denied"
  | "group.self"
  | "group.unknown_inbox"
  | "group.unknown_member"
  | "identity.invalid"
  | "identity.limit"
  | "input.id"
  | "input.identifier"
  | "input.value"
  | "message.empty"
  | "message.not_found"
  | "message.too_large"
  | "store.blocked"
  | "store.closed"
  | "store.corrupt"
  | "store.failed"
  | "store.newer"
  | "store.quota"
  | "store.unavailable"
  | "store.wrong_key"
  | "stream.failed"
  | "stream.foreign_cursor"
  | "stream.invalid_retry_attempts"
  | "stream.owned"
  | "wasm.load_failed"
  | "wasm.unsupported";

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
  return new DovetailError("bug.internal", `unexpected failure: ${text}; please report it`, { cause: error });
}

/**
 * Whether an error ends its client for good, so that trying again is pointless.
 *
 * @internal
 */
export const isFinal = (error: unknown): boolean =>
  error instanceof DovetailError && (error.code === "client.closed" || error.code === "client.crashed");
