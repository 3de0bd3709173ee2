import {
  type AgentAccount,
  type BudgetWarning,
  type ExecutionBudgetOptions,
  type InboxMessage,
  InvalidValueError,
  type JsonObject,
  type JsonValue,
  type Priority,
  type SerializedError,
  type Spend,
  type Usage,
} from "@ravi/kernel";
import type { Decision } from "@ravi/kernel/loop";
import type { Lost } from "./lost.ts";
import type { Launch, StartMessage, Stopped, UsedSoFar } from "./messages.ts";

/** Incremented when a worker of an earlier version could no longer work with the state. */
const FORMAT = 1;

/** Reserved money. It is held until it is settled, and charged if it never is. */
export interface OpenReservation {
  readonly exec: string;
  readonly spend: Partial<Spend>;
  /** The full key of its call. */
  readonly of: string;
  /** What its tokens consist of; only for the first try at a model call. */
  readonly usage?: Usage | undefined;
}

/** A call that was begun and whose outcome is not recorded yet. */
export interface Mark {
  readonly attempt: number;
  readonly nonce: string;
  readonly lane: number;
  readonly reserved?: string | undefined;
  /** When it was begun, and what is called, for reports. */
  readonly at?: number | undefined;
  readonly name?: string | undefined;
}

/** A value that an execution waits for. */
interface Want {
  readonly name: string;
  readonly awakeable: string;
  /** Its place in the order of the waits of the whole tree. */
  readonly n: number;
  readonly since: number;
  readonly isApproval?: boolean | undefined;
  readonly question?: JsonValue | undefined;
}

export interface ExecState {
  readonly parent: string | null;
  readonly agentId: string;
  readonly priority: Priority | null;
  readonly budget: ExecutionBudgetOptions | null;
  /**
   * What it is started with. Kept for the root, without its input; for others only until they have started, because every message
   * carries the whole state.
   */
  launch: Launch | null;
  phase: "queued" | "running" | "over";
  lane: number;
  /** The awakeable that tells it to stop. */
  stop?: string | undefined;
  stopped?: Stopped | undefined;
  /** What it and its finished descendants have spent. */
  own: Spend;
  /** The most that one of its own calls used. Ledgers hold back that much for the last turn. */
  largest: Spend;
  lost?: Lost | undefined;
  /** What was granted beyond the limits, to it or anyone below it, each under its full key. */
  raised: Record<string, Partial<Spend>>;
  marks: Record<string, Mark>;
  wants: Record<string, Want>;
  /** Answers to requests of this lane, kept because the answer may be lost and the request repeated. */
  given: Record<string, { readonly lane: number; readonly value: JsonValue }>;
  mail: InboxMessage[];
  /** The awakeable that tells it that there is mail; undefined if it was told, and has not read all of it. */
  bell?: string | undefined;
  reader?: { readonly key: string; readonly awakeable: string } | undefined;
  /** The awakeables that wait for its reply, by message id. */
  askers: Record<string, string>;
  /** The awakeables that wait for its end. */
  joiners: string[];
  /** Set when it has ended and waits for its children. */
  ender?: string | undefined;
  /** Whether its agent has ended, and so reads no more messages. */
  hasEnded?: boolean | undefined;
  /** The awakeables that wait until it has its seat again. */
  parked: string[];
  /** Since when it stands still: it has no seat, or it or somebody below it waits for an answer from outside. */
  stillSince?: number | undefined;
  /** How long it has stood still before that. */
  stillMs: number;
  /** The awakeables that wait until it goes on. */
  watchers?: string[] | undefined;
  /** The awakeables that wait for a decision, by the keys of the calls; and what is to be decided on. */
  doubts: Record<string, string>;
  questions?: Record<string, JsonValue> | undefined;
  suspended?: SerializedError | undefined;
  /** Since when somebody has to decide on `doubts`. */
  suspendedAt?: number | undefined;
  /** How often its agent's own code threw, and the nonce of the last time. */
  crashes?: { readonly count: number; readonly nonce: string } | undefined;
  /** Warnings that could not be reported to the execution that caused them. */
  untold?: readonly BudgetWarning[] | undefined;
  /** What it reported last. When it is over, its `account` has that. */
  used?: UsedSoFar | undefined;
  /** Only its status once nobody can join it any more, because every message carries the whole state. */
  outcome?: JsonObject | undefined;
  readonly isJoinable?: boolean | undefined;
  account?: AgentAccount | undefined;
  /** Once it is over: whether another invocation can go on from what it did, and who has paid for it. */
  isKept?: boolean | undefined;
  paidBy?: string | undefined;
  /** How often it was retried. */
  retries?: number | undefined;
}

export interface RootState {
  /** Fields may be added to a format, but none may change its meaning. */
  readonly format: number;
  readonly runId: string;
  readonly startedAt: number;
  /** The nonce of the message that started it. */
  readonly startedBy: string;
  /** The latest time of any message. */
  at: number;
  /** Counts the changes of the run's status. */
  version: number;
  /** Counts what was recorded, for the list of runs. */
  entries: number;
  execs: Record<string, ExecState>;
  seats: JsonObject | null;
  open: Record<string, OpenReservation>;
  signals: Record<string, JsonValue[]>;
  /** The ids of the newest deliveries and messages from outside, so that a repeated one counts once. */
  delivered: string[];
  /** Messages from outside to executions that have not been hired yet. */
  early?: Readonly<Record<string, readonly InboxMessage[]>> | undefined;
  /**
   * Decisions on calls that are or may come to be in doubt, by full key (`execId:key`), until the call is made or its execution is
   * over.
   */
  decisions: Record<string, Decision>;
  inDoubt: string[];
  result?: JsonObject | undefined;
  /** The nonce of the message that it was last retried with. */
  retriedBy?: string | undefined;
}

/** Throws an `InvalidValueError` if the state is of another format. */
export function checkFormat({ runId, format }: RootState): void {
  if (format === FORMAT) return;
  const expected = `format ${FORMAT}; a worker with another version of @ravi/runtime-restate wrote it, so run workers of that version`;
  throw new InvalidValueError({ field: `the format of run ${runId}`, value: format, expected });
}

export const NOTHING_SPENT: Spend = Object.freeze({ tokens: 0, cost: 0, turns: 0, toolCalls: 0 });

/** How many ids are remembered. */
const REMEMBERED = 200;

export function rememberDelivery(state: RootState, id: string): void {
  state.delivered = [...state.delivered, id].slice(-REMEMBERED);
}

export function drop(record: Record<string, unknown>, key: string): void {
  Reflect.deleteProperty(record, key);
}

export function newExec(
  init: Pick<ExecState, "parent" | "agentId" | "priority" | "budget" | "launch" | "phase" | "isJoinable">,
): ExecState {
  return {
    ...init,
    lane: 0,
    own: NOTHING_SPENT,
    largest: NOTHING_SPENT,
    raised: {},
    marks: {},
    wants: {},
    given: {},
    mail: [],
    askers: {},
    joiners: [],
    parked: [],
    stillMs: 0,
    doubts: {},
  };
}

export function newRoot(
  launch: Launch,
  root: Pick<ExecState, "agentId" | "priority">,
  { at, nonce }: Pick<StartMessage, "at" | "nonce">,
): RootState {
  const kept = { ...launch, input: "", attachments: undefined };
  const exec = newExec({ ...root, parent: null, budget: null, launch: kept, phase: "running" });
  return {
    format: FORMAT,
    runId: launch.runId,
    startedAt: at,
    startedBy: nonce,
    at,
    version: 1,
    entries: 0,
    execs: { [launch.execId]: exec },
    seats: null,
    open: {},
    signals: {},
    delivered: [],
    decisions: {},
    inDoubt: [],
  };
}
