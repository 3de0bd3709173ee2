import type {
  AgentAccount,
  Attachment,
  BudgetWarning,
  ExecutionBudgetOptions,
  InboxMessage,
  JsonObject,
  JsonValue,
  Priority,
  Remaining,
  SerializedError,
  SpawnBudgetOptions,
  Spend,
  Usage,
} from "@ravi/kernel";
import type { Decisions } from "@ravi/kernel/loop";

// The messages of executions and clients to the object of a tree's root, and its answers. All are plain JSON. Each has the sender's
// time, and each may be sent twice: the second time gives the same answer and changes nothing.

/** What one execution needs to start, in any process. */
export type Launch = {
  readonly runId: string;
  readonly execId: string;
  /** `name@version` */
  readonly agent: string;
  readonly supervision: JsonObject;
  readonly input: string;
  readonly attachments?: readonly Attachment[] | undefined;
  readonly tenantId: string | null;
  readonly userId: string | null;
  readonly metadata: JsonObject;
  readonly deadline: number | null;
  readonly onPreempt: "park" | "return";
  /** For a root: the answer of a layer around the agent. Nothing is started then. */
  readonly refused?: JsonObject | undefined;
  /** Which retry it is, and the workflow that has kept what was done before. */
  readonly again?: { readonly n: number; readonly before: string } | undefined;
};

/** The key of an execution's workflow. A workflow runs once, so each retry has one of its own. */
export function workflowOf({ execId, again }: Pick<Launch, "execId" | "again">): string {
  return workflowKey(execId, again?.n ?? 0);
}

export function workflowKey(execId: string, retries: number): string {
  return retries === 0 ? execId : `${execId}${RETRY}${retries}`;
}

/** Before the number of a retry, in the key of a workflow. */
export const RETRY = "/retry:";

/** What became of a reservation. */
export type Settle = {
  readonly id: string;
  /** Absent if nothing was sent: the whole reservation is released. */
  readonly actual?: (Partial<Spend> & { readonly estimated?: boolean }) | undefined;
};
/** The full key of a call that may have been paid for, and whose answer nobody has: its agent was stopped meanwhile. */
export type AbandonedCall = { readonly left: string };

type At = { readonly at: number };
/** What an execution itself has used so far, without its children. */
export type UsedSoFar = Pick<
  AgentAccount,
  "usage" | "costUsd" | "modelCalls" | "toolCalls" | "retries" | "wasteUsd"
>;
/** A message of an execution. A lane below the newest one belongs to an attempt that is over, and is refused. */
export type FromExec = At & {
  readonly execId: string;
  readonly lane: number;
  readonly used?: UsedSoFar | undefined;
};

export type StartMessage = At & {
  readonly launch: Launch;
  /** The seats that the caller asked for. (A tree's supervision always has some, by default.) */
  readonly spawns?: SpawnBudgetOptions | undefined;
  /** Different for each start, so that a repeated message is recognised. */
  readonly nonce: string;
  /** Set if the caller had cancelled the run before it was started. */
  readonly stopped?: Stopped | undefined;
};
export type Started = { readonly isNew: boolean; readonly refused?: SerializedError | undefined };
export type EnterMessage = At & {
  readonly execId: string;
  readonly stop: string;
  /** The awakeable to resolve when a message comes. */
  readonly bell?: string | undefined;
};
/** The answer to `enter`: whether a message has come before. */
export type Entered = Standing & { readonly hasMail: boolean };
export type Standing = {
  readonly at: number;
  readonly paused: boolean;
  readonly remaining: Remaining;
  readonly isMetered: boolean;
  readonly stopped?: Stopped | undefined;
};

/** Why an execution is to end. With a `deadline` it ran out of time and may return what it has. */
export type Stopped = {
  readonly reason: string;
  readonly deadline?: number | undefined;
  /** Whether the reason is that one above it has ended. It goes on if that one is retried. */
  readonly isOfEnd?: boolean | undefined;
};

export type AdmitMessage = FromExec & {
  readonly key: string;
  /** Different for each time that the closure runs, so that a repeated message is not taken for a second try. */
  readonly nonce: string;
  readonly onDoubt: "retry" | "ask";
  /** The tool or the model that is called, for reports. */
  readonly name?: string | undefined;
  readonly reserve?: Partial<Spend> | undefined;
  /** What the reserved tokens consist of. */
  readonly usage?: Usage | undefined;
  readonly settle: readonly (Settle | AbandonedCall)[];
};
export type Admission = Standing & {
  readonly verdict: "go" | "parked" | "stopped" | "stale" | "doubt";
  readonly attempt: number;
  /** The id of the granted reservation, or why it was refused. */
  readonly reserved?: string | undefined;
  readonly refused?: SerializedError | undefined;
  /** This call, together with everything under way, may pass a threshold. It then settles at once, to get the warning in time. */
  readonly isNear?: boolean | undefined;
  readonly warnings: readonly BudgetWarning[];
};

export type ReserveMessage = FromExec & {
  readonly id: string;
  readonly key: string;
  /** That of the call's admission. */
  readonly nonce: string;
  readonly spend: Partial<Spend>;
  readonly wrapUp: boolean;
  readonly what: string | undefined;
  readonly settle: readonly (Settle | AbandonedCall)[];
};
export type Reserved = {
  readonly refused?: SerializedError | undefined;
  readonly isNear?: boolean | undefined;
  readonly warnings: readonly BudgetWarning[];
};

export type SettleMessage = FromExec & {
  readonly settle: readonly (Settle | AbandonedCall)[];
  /** Whether nobody waits for the answer. */
  readonly isOneWay?: boolean | undefined;
};
export type WithdrawMessage = At & { readonly execId: string; readonly key: string; readonly nonce: string };

export type HireMessage = FromExec & {
  readonly key: string;
  readonly agentId: string;
  readonly priority: Priority | null;
  readonly launch: Launch;
  readonly budget: ExecutionBudgetOptions | null;
  readonly onFull: "deny" | "queue";
  /** The awakeable to resolve with its outcome. */
  readonly over?: string | undefined;
  /** False if nobody can join the child later. */
  readonly isJoinable?: boolean | undefined;
  /** Whether its parent is retried: a child that had failed, or was stopped then, goes on. */
  readonly isAgain?: boolean | undefined;
};
export type Hired = { readonly denied?: SerializedError | undefined };

export type OverMessage = At & {
  readonly execId: string;
  readonly outcome: JsonObject;
  readonly account?: AgentAccount | undefined;
  readonly settle: readonly (Settle | AbandonedCall)[];
  /** Whether it was ended from outside and could not report anything. */
  readonly isKilled?: boolean | undefined;
  /** Whether another invocation can go on from what it did. */
  readonly isKept?: boolean | undefined;
  /** Which retry of the execution has ended. */
  readonly retry?: number | undefined;
};
export type JoinMessage = FromExec & { readonly child: string; readonly over: string };
export type WaitedMessage = FromExec & {
  readonly child: string;
  /** The awakeable to resolve with its `stillMs` when it goes on, if it stands still now. */
  readonly moved?: string | undefined;
};
/** How long a child stood still, and what it and everyone below it have used, as far as they have reported. */
export type Waited = {
  readonly stillMs: number;
  readonly isStill: boolean;
  readonly usage: Usage;
  readonly costUsd: number | null;
};

export type WantMessage = FromExec & {
  readonly key: string;
  readonly name: string;
  readonly awakeable: string;
  /** For the list of runs. A long question is left out. */
  readonly isApproval?: boolean | undefined;
  readonly question?: JsonValue | undefined;
};
export type Wanted = Standing & { readonly got?: { readonly value: JsonValue } | undefined };
export type DeliverMessage = At & {
  readonly id: string;
  readonly name: string;
  readonly value: JsonValue;
  /** Whether a run that is over refuses it. */
  readonly mustExist?: boolean | undefined;
  /** Whether a run that does not wait for it now refuses it. */
  readonly mustWait?: boolean | undefined;
};
/** Null if the value was taken; otherwise how the run has ended, what it waits for instead, or that there is no room to keep it. */
export type DeliverAnswer =
  | { readonly ended: string }
  | { readonly waitsFor: readonly string[] }
  | { readonly refused: SerializedError }
  | null;

export type AskMessage = FromExec & {
  readonly child: string;
  readonly message: InboxMessage;
  readonly awakeable: string;
};
export type MailMessage = FromExec & {
  readonly key: string;
  readonly wait: boolean;
  readonly awakeable: string;
  /** The awakeable to resolve when the next message comes, if this was the last one. */
  readonly bell?: string | undefined;
};
export type Mail = Standing & {
  readonly message?: InboxMessage | null | undefined;
  /** Whether another message waits. If not, `bell` will tell of the next. */
  readonly hasMore?: boolean | undefined;
  /** There is no message because the execution is over. */
  readonly gone?: boolean | undefined;
};
/** A message from outside to an execution of the run. */
export type SendMessage = At & { readonly to: string; readonly message: InboxMessage };
/** Null if it was taken; otherwise how the run has ended, that the recipient has ended, or that there is no room to keep it. */
export type SendAnswer =
  | { readonly ended: string }
  | { readonly isMissed: true }
  | { readonly refused: SerializedError }
  | null;
export type ReplyMessage = FromExec & { readonly messageId: string; readonly value: JsonValue };

export type StopMessage = At & {
  readonly execId: string | null;
  readonly stopped: Stopped;
  /** Stops only that execution, not its children. */
  readonly alone?: boolean | undefined;
};
/** The executions that cannot be told, because no worker can run them. */
export type StopAnswer = { readonly deaf: readonly string[] };
export type ParkMessage = FromExec & { readonly awakeable: string };
export type DoubtMessage = FromExec & {
  readonly key: string;
  readonly awakeable: string;
  readonly error: SerializedError;
  /** What is to be decided on, for the list of runs. */
  readonly question?: JsonValue | undefined;
};
/** The agent's own code threw. The nonce is different each time, so that a repeated message does not count as another crash. */
export type CrashedMessage = At & { readonly execId: string; readonly nonce: string };
export type EndMessage = FromExec & { readonly awakeable: string };
export type RaiseMessage = FromExec & { readonly key: string; readonly more: Partial<Spend> };
/** A worker cannot go on with an execution, for this reason. */
export type SuspendedMessage = At & { readonly execId: string; readonly error: SerializedError };
export type ResumeMessage = At & { readonly decisions: Decisions };
export type Resumed = { readonly refused?: SerializedError | undefined };
/** The nonce is different for each call of `resume`, so that a repeated message does not count as another retry. */
export type RetryMessage = At & { readonly nonce: string };
/** How often the run was retried so far; or why it cannot be. */
export type Retried = { readonly retries: number } | { readonly refused: SerializedError };

/** A call that was begun, and whose end the tree does not know. */
export type OpenCall = {
  readonly execId: string;
  readonly key: string;
  readonly name: string;
  readonly startedAt: number;
};
/** Everything that the tree knows of a run, for reports. */
export type WholeView = RunView & { readonly summary: JsonObject; readonly openCalls: readonly OpenCall[] };

/** The state of a run, as its clients see it. */
export type RunView = {
  readonly known: boolean;
  readonly version: number;
  readonly agentId?: string | undefined;
  readonly status: "pending" | "running" | "waiting" | "suspended" | "over";
  /** How often it was retried. */
  readonly retries?: number | undefined;
  readonly error?: SerializedError | undefined;
  readonly result?: JsonObject | undefined;
  readonly inDoubt?: readonly string[] | undefined;
  readonly accounts?: readonly AgentAccount[] | undefined;
  /** The root's supervision with the limits of the tree, and what was granted beyond them. */
  readonly supervision?: JsonObject | undefined;
  readonly granted?: Spend | undefined;
  /** What the whole tree has used. */
  readonly used?: Spend | undefined;
  readonly isCounted?: boolean | undefined;
  readonly isMetered?: boolean | undefined;
};
