// Actions: a question with the answers to choose from. The answer is an intent.

import * as check from "../check.js";
import { ActionStyle } from "../enums.js";
import { DovetailError } from "../errors.js";
import { toDate } from "../time.js";
import { COINBASE, JsonCodec, encoder, guard, may, must, typeOf } from "./standard.js";

/** A question with its answers. */
export interface Actions {
  id: string;
  /** The question. */
  description: string;
  /** 1 to 10, with ids of their own. */
  actions: Action[];
  /** To the millisecond. */
  expiresAtNs?: bigint;
}

/** An answer. */
export interface Action {
  id: string;
  label: string;
  imageUrl?: string;
  style?: ActionStyle;
  /** To the millisecond. */
  expiresAtNs?: bigint;
}

const MOST = 10;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/** Questions. In its JSON times and styles are texts. */
export class ActionsCodec extends JsonCodec<Actions> {
  constructor() {
    super("actions", 1, COINBASE);
  }

  protected read(given: Record<string, unknown>): Actions {
    return check.present<Actions>({
      id: must(given, "id", check.string),
      description: must(given, "description", check.string),
      actions: must(given, "actions", check.list(action)),
      expiresAtNs: expiry(given),
    });
  }

  protected override json({ id, description, actions, expiresAtNs }: Actions): unknown {
    const list = check.list(actionJson)(actions, "actions");
    if (list.length === 0 || list.length > MOST) {
      throw new DovetailError("input.value", `there must be 1 to ${MOST} actions, not ${list.length}`);
    }
    if (new Set(list.map((one) => one.id)).size < list.length) {
      throw new DovetailError("input.value", "two actions have the same id");
    }
    return { id, description, actions: list, expiresAt: time(expiresAtNs) };
  }

  override fallback({ description, actions }: Actions): string {
    const lines = actions.map(({ label }, at) => `[${at + 1}] ${label}`);
    return `${description}\n\n${lines.join("\n")}\n\nReply with the number to select`;
  }
}

function action(value: unknown, name: string): Action {
  const given = check.object(value, name);
  const style = may(given, "style", check.string);
  return check.present<Action>({
    id: must(given, "id", check.string),
    label: must(given, "label", check.string),
    imageUrl: may(given, "imageUrl", check.string) ?? may(given, "image_url", check.string),
    style: style === undefined ? undefined : check.member<ActionStyle>(ActionStyle)(STYLES.indexOf(style), `${name}.style`),
    expiresAtNs: expiry(given),
  });
}

/** By the values of {@link ActionStyle}. */
const STYLES = ["primary", "secondary", "danger"];

function actionJson(value: unknown, name: string) {
  const { id, label, imageUrl, style, expiresAtNs } = check.object(value, name);
  const styled = check.optional(style, `${name}.style`, check.member<ActionStyle>(ActionStyle));
  return { id, label, imageUrl, style: styled === undefined ? undefined : STYLES[styled], expiresAt: time(expiresAtNs) };
}

function time(value: unknown): string | undefined {
  const ns = check.optional(value, "expiresAtNs", check.bigint);
  if (ns === undefined) return undefined;
  if (BigInt.asIntN(64, ns) !== ns) throw new DovetailError("input.value", "expiresAtNs is out of range");
  return toDate(ns).toISOString();
}

function expiry(given: Record<string, unknown>): bigint | undefined {
  const text = may(given, "expiresAt", check.string) ?? may(given, "expires_at", check.string);
  if (text === undefined) return undefined;
  if (!RFC_3339.test(text)) throw new Error("expiresAt is no time");
  return BigInt(Date.parse(text.toUpperCase())) * 1_000_000n;
}

/** @internal */
export const ACTIONS = new ActionsCodec();

/** The content type of questions. */
export const contentTypeActions = typeOf(ACTIONS);

/** A question as it is sent. */
export const encodeActions = encoder(ACTIONS);

/** Whether a message is a question. */
export const isActions = guard<Actions>("actions", COINBASE);
