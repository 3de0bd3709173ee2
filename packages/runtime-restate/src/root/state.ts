import type {
  AgentAccount,
  BudgetWarning,
  ExecutionBudgetOptions,
  InboxMessage,
  JsonObject,
  JsonValue,
  Priority,
  SerializedError,
  Spend,
  Usage,
} from "@ravi/kernel";
import type { Decision } from "@ravi/kernel/loop";
import type { Lost } from "./lost.ts";
import type { Launch, StartMessage, Stopped, UsedSoFar } from "./messages.ts";

/** Money that is set aside: it is held until somebody settles it, and charged if nobody does. */
export interface OpenReservation {
  readonly exec: string;
  readonly spend: Partial<Spend>;
  readonly wrapUp: boolean;
  /** The call that it is for, under its whole key. */
  readonly of?: string | undefined;
  /** How its tokens are made up, of the first try at a model call. */
  readonly usage?: Usage | undefined;
}

/** A call that was begun and whose outcome is not on record yet. */
export interface Mark {
  readonly attempt: number;
  readonly nonce: string;
  readonly lane: number;
  readonly reserved?: string | undefined;
}

export interface ExecState {
  readonly parent: string | null;
  readonly agentId: string;
  readonly priority: Priority | null;
  readonly budget: ExecutionBudgetOptions | null;
  /** What it is started with: of the root for ever, of others only until they are. A message carries the whole state. */
  launch: Launch | null;
  phase: "queued" | "running" | "over";
  lane: number;
  /** Where it is told to stop. */
  stop?: string | undefined;
  stopped?: Stopped | undefined;
  /** Spent by itself and by those below it who are over. */
  own: Spend;
  /** The most that one call of its own took: ledgers hold so much back for the last turn. */
  largest: Spend;
  lost?: Lost | undefined;
  /** What was granted beyond the limits to it or to anybody below it, each under its whole key. */
  raised: Record<string, Partial<Spend>>;
  marks: Record<string, Mark>;
  /** `n` says who came first, in the whole tree. */
  wants: Record<string, { readonly name: string; readonly awakeable: string; readonly n?: number }>;
  /** Given in answer to what was asked in this lane: somebody may ask again, because the answer was lost. */
  given: Record<string, { readonly lane: number; readonly value: JsonValue }>;
  mail: InboxMessage[];
  reader?: { readonly key: string; readonly awakeable: string } | undefined;
  /** Who waits for its reply, by message. */
  askers: Record<string, string>;
  /** Who waits for its end. */
  joiners: string[];
  /** It ended, and waits for those whom it hired. */
  ender?: string | undefined;
  /** Who waits until it has its seat again. */
  parked: string[];
  unseatedSince?: number | undefined;
  unseatedMs: number;
  doubts: Record<string, string>;
  suspended?: SerializedError | undefined;
  /** How often its agent's own code threw, and the nonce of the last time. */
  crashes?: { readonly count: number; readonly nonce: string } | undefined;
  /** Thresholds that were passed by somebody who could not be told any more. */
  untold?: readonly BudgetWarning[] | undefined;
  /** As it said last; its `account` says it when it is over. */
  used?: UsedSoFar | undefined;
  /** Of one whom nobody can join any more, only its status: a message carries the whole state. */
  outcome?: JsonObject | undefined;
  readonly isJoinable?: boolean | undefined;
  account?: AgentAccount | undefined;
}

export interface RootState {
  /** Readable by newer code: fields are added, none changes its meaning. */
  readonly format: 1;
  readonly runId: string;
  readonly startedAt: number;
  /** The nonce of the message that began it. */
  readonly startedBy?: string | undefined;
  /** The newest time that anybody told. */
  at: number;
  /** Counts changes of how the run stands. */
  version: number;
  /** Counts what was written down, for the list of runs. */
  entries: number;
  execs: Record<string, ExecState>;
  seats: JsonObject | null;
  open: Record<string, OpenReservation>;
  signals: Record<string, JsonValue[]>;
  /** The newest deliveries by id: one that is sent again counts once. */
  delivered: string[];
  /** On calls that are or may come to be in doubt, under whole keys (`execId:key`), until they are made or their execution is over. */
  decisions: Record<string, Decision>;
  inDoubt: string[];
  result?: JsonObject | undefined;
}

export const NOTHING_SPENT: Spend = Object.freeze({ tokens: 0, cost: 0, turns: 0, toolCalls: 0 });

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
    unseatedMs: 0,
    doubts: {},
  };
}

export function newRoot(
  launch: Launch,
  root: Pick<ExecState, "agentId" | "priority">,
  { at, nonce }: Pick<StartMessage, "at" | "nonce">,
): RootState {
  const exec = newExec({ ...root, parent: null, budget: null, launch, phase: "running" });
  return {
    format: 1,
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
