import {
  type AbortSignalLike,
  type Attachment,
  checkAmountOrNull,
  checkFields,
  checkIntegerOrNull,
  InvalidValueError,
  SessionId,
} from "@ravi/kernel";
import type { Decisions } from "@ravi/runtime";
import { RUN_OPTIONS, type RunOptions } from "../run/options.ts";

/** The limits of a whole conversation. Null, or absent: no limit. */
export interface ConversationLimits {
  /** US dollars. */
  readonly usd?: number | null | undefined;
  /** Input and output tokens together. */
  readonly tokens?: number | null | undefined;
  /** Turns that have ended, whatever their end. */
  readonly messages?: number | null | undefined;
}

/** What a conversation has used, as plain JSON. */
export interface ConversationSpend {
  /** US dollars; null if the price of a call is not known. */
  readonly usd: number | null;
  readonly tokens: number;
  readonly messages: number;
}

/** Options of `run` that belong to a single turn, or that the conversation sets itself. */
type OfTurns = "sessionId" | "runId" | "attachments" | "signal";

/** The options of `conversation`: those of `run` for each turn, and a few for all of them together. */
export interface ConversationOptions extends Omit<RunOptions, OfTurns> {
  /** Continues this conversation: the `sessionId` of its runs. Default: a new one. */
  readonly id?: string | undefined;
  /** What all turns together may use. `budget` is for each turn. */
  readonly total?: ConversationLimits | undefined;
  /** What was used before, as `used` of an earlier object has it. Default: nothing. */
  readonly used?: { readonly [K in keyof ConversationSpend]?: ConversationSpend[K] | undefined } | undefined;
}

/** The options of one turn. */
export interface TurnOptions {
  /** Pictures and files that come with the message. */
  readonly attachments?: readonly Attachment[] | undefined;
  /** Aborting it cancels the turn, which is then not part of the conversation. */
  readonly signal?: AbortSignalLike | undefined;
}

/** The options of a turn that is resumed. */
export interface ResumeTurnOptions {
  /** What to do about tool calls that were in flight at a crash; see `resume`. */
  readonly decisions?: Decisions | undefined;
  readonly signal?: AbortSignalLike | undefined;
}

const OF_TURNS: ReadonlySet<string> = new Set<OfTurns>(["sessionId", "runId", "attachments", "signal"]);
const KNOWN = [...RUN_OPTIONS.filter((name) => !OF_TURNS.has(name)), "id", "total", "used"];
const AMOUNTS = ["usd", "tokens", "messages"];
/** The id of a run, of at most 512 characters, is that of the conversation and a place in it. */
const MOST_CHARACTERS = 480;

export function checkConversation(options: ConversationOptions): void {
  checkFields("conversation options", options, KNOWN);
  const { id } = options;
  if (id !== undefined && !isConversationId(id)) {
    const expected = `a string of 1 to ${MOST_CHARACTERS} characters without control characters`;
    throw new InvalidValueError({ field: "conversation options.id", value: id, expected });
  }
  for (const field of ["total", "used"] as const) {
    const { usd = null, tokens = null, messages = null } = options[field] ?? {};
    checkFields(field, options[field] ?? {}, AMOUNTS);
    checkAmountOrNull(`${field}.usd`, usd, "not negative");
    checkIntegerOrNull(`${field}.tokens`, tokens, 0);
    checkIntegerOrNull(`${field}.messages`, messages, 0);
  }
}

function isConversationId(id: string): boolean {
  try {
    return SessionId(id).length <= MOST_CHARACTERS;
  } catch {
    // What is expected of a session's id is expected here too, under another name.
    return false;
  }
}
