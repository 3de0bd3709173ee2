import type { Attachment, Heard, InboxMessage, JsonObject, JsonValue, SerializedError } from "@ravi/kernel";
import type { Paid } from "../account.ts";
import type { Recorded } from "../payment.ts";

// What an execution has done, step by step, so that another invocation of it can go on from there if its run is retried. All of it comes
// from the journal: a replay keeps the same.

/** What earlier tries at a call had cost, each of which had failed in an earlier invocation. */
interface Failed {
  readonly failed?: readonly Paid[] | undefined;
}

/** What came of one step. */
export type Step =
  | ({ readonly kind: "call"; readonly of: "llm" | "tool"; readonly recorded: Recorded } & Failed)
  /** A tool call that somebody has decided on. */
  | ({ readonly kind: "decided"; readonly skipped: true } & Failed)
  | ({ readonly kind: "decided"; readonly failure: SerializedError } & Failed)
  | { readonly kind: "hire"; readonly child: string; readonly outcome: JsonObject; readonly tookMs: number }
  | { readonly kind: "spawn"; readonly child: string; readonly denied?: SerializedError | undefined }
  | { readonly kind: "join"; readonly child: string; readonly outcome: JsonObject }
  | { readonly kind: "wait"; readonly name: string; readonly value: JsonValue }
  | { readonly kind: "fact"; readonly value: JsonValue }
  | { readonly kind: "sleep" }
  | { readonly kind: "ask"; readonly heard: Heard }
  | { readonly kind: "mail"; readonly message: InboxMessage | null };

export type StepKind = Step["kind"];
export type StepOf<K extends StepKind> = Extract<Step, { readonly kind: K }>;

/** One operation of an execution, of one step or, if it is a batch, of several. */
export interface Operation {
  /** What each step asks for: its kind, its key and, if it has one, its fingerprint. */
  readonly asked: readonly string[];
  /** What came of each; null of one that was cut off. */
  steps: readonly (Step | null)[];
  /** The time of the execution after it. */
  at: number;
}

/** What is kept of an execution that has failed. */
export interface Kept {
  readonly input: string;
  readonly attachments?: readonly Attachment[] | undefined;
  readonly error: SerializedError;
  /** When it began, and when it had failed. */
  readonly at: number;
  readonly endedAt: number;
  /** The number of its last operation, of the last event that it told, and of the last entry in its record. */
  readonly lane: number;
  readonly published: number;
  readonly recorded: number;
  readonly operations: readonly Operation[];
}

/** Begins what asks for a call, a hire or a spawn: the agent begins something with it, and has seen what came before. */
const BEGINS = /^(?:call|hire|spawn) /;

export function begins(asked: string): boolean {
  return BEGINS.test(asked);
}
