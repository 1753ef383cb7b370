// A client: one installation of one inbox on one database.

import { withArchives } from "./archives.js";
import { BrowserDelivery } from "./browser-delivery.js";
import { fromHex } from "./bytes.js";
import { withModule } from "./calls.js";
import * as check from "./check.js";
import { allCodecs } from "./content/built-in.js";
import type { ContentCodec } from "./content/codec.js";
import type { BuiltInContentTypes, WithReplies } from "./content/types.js";
import { Conversations } from "./conversations.js";
import { Core } from "./core.js";
import type { Delivery } from "./delivery.js";
import { DovetailError, SignerUnavailableError } from "./errors.js";
import { type ClientEvent, type EventStreamOptions, streamEvents } from "./events.js";
import { Preferences } from "./preferences.js";
import { identifierOf, signWith } from "./signer.js";
import type { RawKeyPackageStatus } from "./raw.js";
import type { AsyncStreamProxy } from "./streams.js";
import type {
  ArchiveMetadata,
  ArchiveOptions,
  ClientOptions,
  DeliveryOptions,
  Identifier,
  ImportArchiveOptions,
  InboxState,
  KeyPackageStatus,
  Signer,
} from "./types.js";
import { instance } from "./wasm.js";

/** What messages of a client with these codecs can hold. */
export type ExtractCodecContentTypes<Codecs extends ContentCodec[] = []> = Codecs extends []
  ? BuiltInContentTypes
  : Codecs[number] extends ContentCodec<infer Content>
    ? WithReplies<Content>
    : BuiltInContentTypes;

type OptionsWith<Codecs extends ContentCodec[]> = Omit<ClientOptions, "codecs"> & { codecs?: Codecs };

/** Creations by database: one after the other, so that the second finds what the first made. */
const creations = new Map<string, Promise<unknown>>();

let sharedDelivery: BrowserDelivery | undefined;

/** A client: one installation of one inbox. */
export class Client<ContentTypes = ExtractCodecContentTypes> {
  #core: Core;
  #options: ClientOptions;
  #account: Identifier;
  #signer: Signer | undefined;
  #version: string;
  #failures: SignerFailures;
  /** Its conversations. */
  readonly conversations: Conversations<ContentTypes>;
  /** What its user decided. */
  readonly preferences: Preferences;

  private constructor(opened: Opened) {
    this.#core = opened.core;
    this.#options = opened.options;
    this.#account = opened.account;
    this.#signer = opened.signer;
    this.#version = opened.version;
    this.#failures = opened.failures;
    this.conversations = new Conversations(opened.core);
    this.preferences = new Preferences(opened.core);
  }

  /**
   * Opens the client of an account, and registers it unless told not to. The first time on a
   * database this makes an installation; later it opens that one.
   */
  static async create<Codecs extends ContentCodec[] = []>(
    signer: Signer,
    options: OptionsWith<Codecs> = {},
  ): Promise<Client<ExtractCodecContentTypes<Codecs>>> {
    return new Client(await open(await accountOf(signer), signer, options));
  }

  /**
   * Opens the client of an account without its signer. It does not register, and calls that need a
   * signature reject with SignerUnavailableError.
   */
  static async build<Codecs extends ContentCodec[] = []>(
    identifier: Identifier,
    options: OptionsWith<Codecs> = {},
  ): Promise<Client<ExtractCodecContentTypes<Codecs>>> {
    return new Client(await open(check.identifier(identifier, "identifier"), undefined, options));
  }

  /**
   * Whether accounts can be written to, by the identifier as it was passed. Needs no client.
   *
   * @param options Where to ask. A text is taken for the `env` of other SDKs: the default.
   */
  static async canMessage(identifiers: Identifier[], options?: DeliveryOptions | string): Promise<Map<string, boolean>> {
    const accounts = check.list(check.identifier)(identifiers, "identifiers");
    const delivery = deliveryOf(options);
    return reachable(accounts, await withModule((module) => module.canMessage(delivery, accounts)));
  }

  /** The state of inboxes, in the order asked; one that does not exist is left out. Needs no client. */
  static async fetchInboxStates(inboxIds: string[], options?: DeliveryOptions | string): Promise<InboxState[]> {
    const asked = check.list(check.string)(inboxIds, "inboxIds");
    const delivery = deliveryOf(options);
    return withModule((module) => module.inboxStates(delivery, asked));
  }

  /**
   * Revokes installations of an inbox. Needs no client and no database: the way out for an inbox
   * that has its greatest number of installations.
   *
   * @param signer The recovery account of the inbox: the one it was made with, unless changed.
   * @param installationIds Ids or bytes. Those revoked before are passed over.
   */
  static async revokeInstallations(
    signer: Signer,
    inboxId: string,
    installationIds: (Uint8Array | string)[],
    options?: DeliveryOptions | string,
  ): Promise<void> {
    const identifier = await accountOf(signer);
    const failures = new SignerFailures();
    const revocation = {
      delivery: deliveryOf(options),
      inboxId: check.string(inboxId, "inboxId"),
      installationIds: check.list(check.installation)(installationIds, "installationIds"),
      identifier,
      sign: signWith(signer, (error) => failures.note(error)),
    };
    return failures.explain(withModule((module) => module.revokeInstallations(revocation)));
  }

  get inboxId(): string {
    return this.#core.inboxId;
  }

  /** Public key of the installation, in hexadecimal digits. */
  get installationId(): string {
    return this.#core.installationId;
  }

  get installationIdBytes(): Uint8Array {
    return fromHex(this.installationId) ?? new Uint8Array();
  }

  /** The account it was opened with. */
  get accountIdentifier(): Identifier {
    return { ...this.#account };
  }

  get signer(): Signer | undefined {
    return this.#signer;
  }

  get options(): ClientOptions {
    return this.#options;
  }

  /** What was passed; it decides nothing. */
  get env(): string | undefined {
    return this.#options.env;
  }

  get appVersion(): string {
    return this.#options.appVersion ?? "";
  }

  /** Version of this package. */
  get libxmtpVersion(): string {
    return this.#version;
  }

  /** True: a client exists only once it is open. */
  get isReady(): boolean {
    return true;
  }

  /** Whether this installation is known to others: it was registered and is not revoked, as far as is known here. */
  isRegistered(): Promise<boolean> {
    return this.#core.call((raw) => raw.isRegistered());
  }

  /** Makes this installation known to others; nothing if it is. */
  async register(): Promise<void> {
    if (!this.#signer) throw new SignerUnavailableError();
    return this.#failures.explain(this.#core.call((raw) => raw.register()));
  }

  /** Whether accounts can be written to, by the identifier as it was passed. */
  async canMessage(identifiers: Identifier[]): Promise<Map<string, boolean>> {
    const accounts = check.list(check.identifier)(identifiers, "identifiers");
    return reachable(accounts, await this.#core.call((raw) => raw.canMessage(accounts)));
  }

  /**
   * Revokes installations of the own inbox; the signer must be its recovery account. Members of
   * its conversations remove them there.
   *
   * @param installationIds Ids or bytes. Those revoked before are passed over.
   */
  async revokeInstallations(installationIds: (Uint8Array | string)[]): Promise<void> {
    return this.#revoke(check.list(check.installation)(installationIds, "installationIds"));
  }

  /** Revokes all installations of the own inbox but this one. */
  async revokeAllOtherInstallations(): Promise<void> {
    return this.#revoke(undefined);
  }

  #revoke(ids: string[] | undefined): Promise<void> {
    if (!this.#signer) throw new SignerUnavailableError();
    return this.#failures.explain(this.#core.call((raw) => raw.revokeInstallations(ids)));
  }

  /** Whether installations can be added to conversations, by id. */
  async fetchKeyPackageStatuses(installationIds: string[]): Promise<Map<string, KeyPackageStatus>> {
    const ids = check.list(check.string)(installationIds, "installationIds");
    const statuses = await this.#core.call((raw) => raw.keyPackageStatuses(ids));
    return new Map(statuses.map((status, at) => [ids[at] ?? "", keyPackageStatus(status)]));
  }

  /** The inbox of an account; undefined if it has none. */
  async fetchInboxIdByIdentifier(identifier: Identifier): Promise<string | undefined> {
    const account = check.identifier(identifier, "identifier");
    const [inboxId] = await this.#core.call((raw) => raw.findInboxes([account]));
    return inboxId;
  }

  /**
   * Makes an archive of what is stored here: conversations with their messages, and decisions. It
   * holds no keys: a device that imports it can read, and write only where members add it.
   *
   * @param key 32 bytes that seal it. Whoever has them can read it and make archives in its place.
   */
  createArchive(options: ArchiveOptions, key: Uint8Array): Promise<Uint8Array> {
    return withArchives((archives) => archives.create(this.#core, options, key));
  }

  /**
   * Imports an archive of this or another inbox. What is here already stays as it is; conversations
   * that are not can be read, and are written in once a member adds this installation. Imported
   * again, an archive changes nothing. The page stays responsive meanwhile.
   *
   * @throws `archive.*`; what came before the trouble is imported and stays.
   */
  importArchive(archive: Uint8Array, key: Uint8Array, options: ImportArchiveOptions = {}): Promise<void> {
    return withArchives((archives) => archives.restore(this.#core, archive, key, options));
  }

  /** What an archive says of itself; nothing of it is imported. */
  archiveMetadata(archive: Uint8Array, key: Uint8Array): Promise<ArchiveMetadata> {
    return withArchives((archives) => archives.metadata(archive, key));
  }

  /**
   * Events from now on, of everything this client does and of what other tabs do on its database.
   * At most 1,024 wait to be taken; further ones are dropped, and `lagged` says so.
   */
  async streamEvents(options: EventStreamOptions = {}): Promise<AsyncStreamProxy<ClientEvent>> {
    return streamEvents(this.#core, options);
  }

  /** As `preferences.sync()`. */
  syncAllDeviceSyncGroups(): Promise<void> {
    return this.preferences.sync();
  }

  /** Ends streams and background work and closes the database. Unfinished work goes on next time. */
  close(): Promise<void> {
    return this.#core.close();
  }
}

/** The id of the inbox that an account and a nonce make. */
export async function generateInboxId(identifier: Identifier, nonce: bigint = 1n): Promise<string> {
  const account = check.identifier(identifier, "identifier");
  const number = check.bigint(nonce, "nonce");
  return withModule((module) => module.generateInboxId(account, number));
}

async function accountOf(signer: Signer): Promise<Identifier> {
  const { type } = check.object(signer, "signer");
  if (type !== "EOA") throw new DovetailError("input.value", 'signer.type must be "EOA"');
  return check.identifier(await identifierOf(signer), "the signer's identifier");
}

const reachable = (accounts: Identifier[], answers: boolean[]) =>
  new Map(accounts.map((account, at) => [account.identifier, answers[at] ?? false]));

/** The longest lifetime there is: the key package names no end. */
const NO_END = 2n ** 64n - 1n;

const keyPackageStatus = ({ usable, expiresNs, problem }: RawKeyPackageStatus): KeyPackageStatus =>
  usable
    ? { lifetime: { notBefore: 0n, notAfter: expiresNs === undefined ? NO_END : expiresNs / 1_000_000_000n } }
    : { validationError: problem ?? "" };

interface Opened {
  core: Core;
  options: ClientOptions;
  account: Identifier;
  signer: Signer | undefined;
  version: string;
  failures: SignerFailures;
}

async function open(account: Identifier, signer: Signer | undefined, options: ClientOptions): Promise<Opened> {
  const given = checked(options);
  const { module, life } = await instance();
  const failures = new SignerFailures();
  const make = () =>
    life.run(() =>
      module.createClient({
        identifier: account,
        nonce: given.nonce ?? 1n,
        dbPath: given.dbPath,
        dbEncryptionKey: given.dbEncryptionKey,
        delivery: deliveryOf(given),
        register: signer !== undefined && given.disableAutoRegister !== true,
        sign: signer && signWith(signer, (error) => failures.note(error)),
      }),
    );
  const name = given.dbPath === undefined ? `account ${account.identifier.toLowerCase()}` : `path ${given.dbPath}`;
  const raw = await failures.explain(given.dbPath === null ? make() : inTurn(name, make));
  const core = new Core(raw, life, allCodecs(given.codecs ?? []));
  return { core, options, account, signer, version: module.version(), failures };
}

function inTurn<T>(name: string, make: () => Promise<T>): Promise<T> {
  const turn = (creations.get(name) ?? Promise.resolve()).then(make, make);
  creations.set(name, turn);
  const done = () => {
    if (creations.get(name) === turn) creations.delete(name);
  };
  turn.then(done, done);
  return turn;
}

function checked(options: ClientOptions): ClientOptions {
  const given = check.object(options, "options");
  if (given["dbPath"] !== null) check.optional(given["dbPath"], "dbPath", check.string);
  check.optional(given["dbEncryptionKey"], "dbEncryptionKey", check.bytes);
  check.optional(given["nonce"], "nonce", check.bigint);
  check.optional(given["disableAutoRegister"], "disableAutoRegister", check.boolean);
  check.optional(given["appVersion"], "appVersion", check.string);
  check.optional(given["codecs"], "codecs", check.list(check.object));
  checkedDelivery(options);
  return options;
}

/** The delivery that options name; a text, taken for an environment of other SDKs, names none. */
function deliveryOf(options: DeliveryOptions | string = {}): Delivery {
  const named = typeof options === "string" ? undefined : checkedDelivery(options);
  return named ?? (sharedDelivery ??= new BrowserDelivery());
}

function checkedDelivery(options: DeliveryOptions): Delivery | undefined {
  const delivery = check.optional(check.object(options, "options")["delivery"], "delivery", check.object);
  const methods: (keyof Delivery)[] = ["publish", "query", "newest", "lookup", "subscribe"];
  const missing = delivery && methods.find((method) => typeof delivery[method] !== "function");
  if (missing) throw new DovetailError("input.value", `delivery.${missing} must be a function`);
  return options.delivery;
}

/** Keeps what a signer threw, which only a code comes back of, for the error's cause. */
class SignerFailures {
  #last: unknown;

  note(error: unknown): void {
    this.#last = error;
  }

  async explain<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      const cause = this.#last;
      if (!(error instanceof DovetailError) || error.code !== "client.signature" || cause === undefined) throw error;
      throw new DovetailError(error.code, error.message, { retryable: error.retryable, cause });
    } finally {
      this.#last = undefined;
    }
  }
}
