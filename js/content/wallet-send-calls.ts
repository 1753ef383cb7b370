// Wallet calls: asks the reader's wallet to send transactions.

import * as check from "../check.js";
import { JsonCodec, encoder, guard, may, must, typeOf } from "./standard.js";

/** Calls for a wallet to send. */
export interface WalletSendCalls {
  version: string;
  chainId: string;
  from: string;
  calls: WalletCall[];
  capabilities?: Record<string, string>;
}

/** One call. */
export interface WalletCall {
  to?: string;
  data?: string;
  value?: string;
  gas?: string;
  metadata?: WalletCallMetadata;
}

/** What a call is for; further texts are kept. */
export interface WalletCallMetadata {
  description: string;
  transactionType: string;
  [further: string]: string;
}

/** Wallet calls. */
export class WalletSendCallsCodec extends JsonCodec<WalletSendCalls> {
  constructor() {
    super("walletSendCalls");
  }

  protected read(given: Record<string, unknown>): WalletSendCalls {
    return check.present<WalletSendCalls>({
      version: must(given, "version", check.string),
      chainId: must(given, "chainId", check.string),
      from: must(given, "from", check.string),
      calls: must(given, "calls", check.list(call)),
      capabilities: may(given, "capabilities", check.texts),
    });
  }

  override fallback(content: WalletSendCalls): string {
    return `[Transaction request generated]: ${JSON.stringify(content)}`;
  }
}

function call(value: unknown, name: string): WalletCall {
  const given = check.object(value, name);
  const text = (field: string) => may(given, field, check.string);
  return check.present<WalletCall>({
    to: text("to"),
    data: text("data"),
    value: text("value"),
    gas: text("gas"),
    metadata: may(given, "metadata", metadata),
  });
}

function metadata(value: unknown, name: string): WalletCallMetadata {
  const given = check.object(value, name);
  const [description, transactionType] = [
    must(given, "description", check.string),
    must(given, "transactionType", check.string),
  ];
  return { ...check.texts(given, name), description, transactionType };
}

/** @internal */
export const WALLET_SEND_CALLS = new WalletSendCallsCodec();

/** The content type of wallet calls. */
export const contentTypeWalletSendCalls = typeOf(WALLET_SEND_CALLS);

/** Wallet calls as they are sent. */
export const encodeWalletSendCalls = encoder(WALLET_SEND_CALLS);

/** Whether a message is wallet calls. */
export const isWalletSendCalls = guard<WalletSendCalls>("walletSendCalls");
