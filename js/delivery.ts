// The contract an app fulfils to bring its own delivery service.

/** An envelope to publish. Its bytes are already encrypted. */
export interface OutgoingEnvelope {
  /** Where to: an opaque id in lowercase hexadecimal digits. */
  topic: string;
  /** The bytes to store, unchanged. */
  payload: Uint8Array;
  /** SHA-256 of the payload, 32 bytes. With the topic it identifies the envelope. */
  hash: Uint8Array;
  /** Accounts this envelope claims for its inbox, for {@link Delivery.lookup}; mostly empty. */
  identifiers: string[];
}

/** What the service says of a stored envelope. */
export interface EnvelopeReceipt {
  /** Its position: rising across all topics, from 1, below 2^53. */
  sequenceId: number;
  /** The service's time, in nanoseconds since 1970. */
  serverNs: bigint;
}

/** A stored envelope. */
export interface IncomingEnvelope extends EnvelopeReceipt {
  /** Its topic. */
  topic: string;
  /** The bytes as published. */
  payload: Uint8Array;
  /** SHA-256 as computed at publication; checked when present. */
  hash?: Uint8Array;
}

/** How far a topic was read. */
export interface TopicPosition {
  topic: string;
  /** The last sequence id already read; 0 for none. */
  after: number;
}

/**
 * Stores and orders envelopes. It sees neither content nor keys, and nothing it answers is
 * trusted: answers that break this contract are dropped with `delivery.invalid`.
 *
 * Throw (or reject with) {@link DeliveryRefused} when a request can never succeed. Anything else
 * thrown means "no answer": the same call is made again later, and a publish whose answer was lost
 * is repeated with the very same envelopes.
 */
export interface Delivery {
  /**
   * Stores a batch, whole or not at all, and resolves once it is durable, with one receipt an
   * envelope in the order of the batch. An envelope that is already stored (same topic, same
   * bytes) is not stored again: it gets the receipt of the first time.
   */
  publish(batch: OutgoingEnvelope[]): Promise<EnvelopeReceipt[]>;

  /**
   * Envelopes behind each position, rising within a topic, at most `limit` a topic. The order
   * between topics does not matter.
   */
  query(topics: TopicPosition[], limit: number): Promise<IncomingEnvelope[]>;

  /** The newest envelope of each topic, in the order asked; undefined for an empty topic. */
  newest(topics: string[]): Promise<(IncomingEnvelope | undefined)[]>;

  /**
   * Ids of the inboxes that claim each account, newest claim first, in the order asked. The inbox
   * id is what follows the first byte of the topic that carried the claim. Claims are verified by
   * the caller.
   */
  lookup(identifiers: string[]): Promise<string[][]>;

  /**
   * Calls `wake` whenever one of the topics may have news, until the returned function is called.
   * A wake-up too many or too few costs time, never a message.
   */
  subscribe(topics: string[], wake: (topic: string) => void): () => void;
}

/** Thrown by a {@link Delivery} that refuses a request for good. Nothing of it is stored. */
export class DeliveryRefused extends Error {
  /** Marks the refusal also across realms and workers. */
  readonly refused = true;

  static {
    this.prototype.name = "DeliveryRefused";
  }
}
