// Transaction references: a transaction on a chain.

import * as check from "../check.js";
import { JsonCodec, encoder, guard, may, must, typeOf } from "./standard.js";

/** A transaction. */
export interface TransactionReference {
  /** For example `eip155`. */
  namespace?: string;
  /** The chain. */
  networkId: string;
  /** The hash of the transaction. */
  reference: string;
  metadata?: TransactionMetadata;
}

/** What a transaction does. */
export interface TransactionMetadata {
  transactionType: string;
  currency: string;
  amount: number;
  decimals: number;
  fromAddress: string;
  toAddress: string;
}

/** Transactions. */
export class TransactionReferenceCodec extends JsonCodec<TransactionReference> {
  constructor() {
    super("transactionReference");
  }

  protected read(given: Record<string, unknown>): TransactionReference {
    return check.present<TransactionReference>({
      namespace: may(given, "namespace", check.string),
      networkId: must(given, "networkId", (value, name) => check.string(typeof value === "number" ? String(value) : value, name)),
      reference: must(given, "reference", check.string),
      metadata: may(given, "metadata", metadata),
    });
  }

  override fallback({ reference }: TransactionReference): string {
    return reference
      ? `[Crypto transaction] Use a blockchain explorer to learn more using the transaction hash: ${reference}`
      : "Crypto transaction";
  }
}

function metadata(value: unknown, name: string): TransactionMetadata {
  const given = check.object(value, name);
  return {
    transactionType: must(given, "transactionType", check.string),
    currency: must(given, "currency", check.string),
    amount: must(given, "amount", check.number),
    decimals: must(given, "decimals", check.count),
    fromAddress: must(given, "fromAddress", check.string),
    toAddress: must(given, "toAddress", check.string),
  };
}

/** @internal */
export const TRANSACTION_REFERENCE = new TransactionReferenceCodec();

/** The content type of transactions. */
export const contentTypeTransactionReference = typeOf(TRANSACTION_REFERENCE);

/** A transaction as it is sent. */
export const encodeTransactionReference = encoder(TRANSACTION_REFERENCE);

/** Whether a message is a transaction. */
export const isTransactionReference = guard<TransactionReference>("transactionReference");
