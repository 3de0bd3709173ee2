import type {
  AgentAccount,
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

// What executions and clients say to the object of a tree's root, and what it answers. All of it is plain JSON, each message
// carries the sender's time, and each can be said twice: a second time gives the same answer and changes nothing.

/** What one execution needs to begin, in any process. */
export type Launch = {
  readonly runId: string;
  readonly execId: string;
  /** `name@version` */
  readonly agent: string;
  readonly supervision: JsonObject;
  readonly input: string;
  readonly tenantId: string | null;
  readonly userId: string | null;
  readonly metadata: JsonObject;
  readonly deadline: number | null;
  readonly onPreempt: "park" | "return";
  /** Of a root: a layer around its agent has answered for it, and nobody is started. */
  readonly refused?: JsonObject | undefined;
};

/** What became of money that was set aside. */
export type Settle = {
  readonly id: string;
  /** Absent: nothing was sent, and all of it goes back. */
  readonly actual?: (Partial<Spend> & { readonly estimated?: boolean }) | undefined;
};
/** A call that did not stop when it was told to, under its whole key. Nobody waits for it; it may have been paid for. */
export type Left = { readonly left: string };

type At = { readonly at: number };
/** What an execution has used so far, itself and without those whom it hired. */
export type UsedSoFar = Pick<
  AgentAccount,
  "usage" | "costUsd" | "modelCalls" | "toolCalls" | "retries" | "wasteUsd"
>;
/** From an execution. A lane below the newest one is that of an attempt which is dead, and is refused. */
export type FromExec = At & {
  readonly execId: string;
  readonly lane: number;
  readonly used?: UsedSoFar | undefined;
};

export type StartMessage = At & {
  readonly launch: Launch;
  /** The seats that were asked for: a tree's supervision has some by default. */
  readonly spawns?: SpawnBudgetOptions | undefined;
  /** One for each start, so that a repeated message is not taken for somebody else's. */
  readonly nonce?: string | undefined;
  /** Its caller had given it up before it was started. */
  readonly stopped?: Stopped | undefined;
};
export type Started = { readonly isNew: boolean; readonly refused?: SerializedError | undefined };
export type EnterMessage = At & {
  readonly execId: string;
  readonly stop: string;
};
export type Standing = {
  readonly at: number;
  readonly paused: boolean;
  readonly remaining: Remaining;
  readonly isMetered: boolean;
  readonly stopped?: Stopped | undefined;
};

/** Why an execution is to end. With a `deadline` it is out of time and may return what it has. */
export type Stopped = { readonly reason: string; readonly deadline?: number | undefined };

export type AdmitMessage = FromExec & {
  readonly key: string;
  /** One for each time that the closure runs, so that a repeated message is not taken for a second try. */
  readonly nonce: string;
  readonly onDoubt: "retry" | "ask";
  readonly reserve?: Partial<Spend> | undefined;
  /** How the tokens that it sets aside are made up. */
  readonly usage?: Usage | undefined;
  readonly settle: readonly (Settle | Left)[];
};
export type Admission = Standing & {
  readonly verdict: "go" | "parked" | "stopped" | "stale" | "doubt";
  readonly attempt: number;
  /** The reservation that was granted, or why it was not. */
  readonly reserved?: string | undefined;
  readonly refused?: SerializedError | undefined;
  /** What this call takes, with all that is under way, may pass a threshold: whoever settles it does so at once, to hear of it. */
  readonly isNear?: boolean | undefined;
  readonly warnings: readonly BudgetWarning[];
};

export type ReserveMessage = FromExec & {
  readonly id: string;
  readonly key?: string | undefined;
  readonly spend: Partial<Spend>;
  readonly wrapUp: boolean;
  readonly what: string | undefined;
  readonly settle: readonly (Settle | Left)[];
};
export type Reserved = {
  readonly refused?: SerializedError | undefined;
  readonly isNear?: boolean | undefined;
  readonly warnings: readonly BudgetWarning[];
};

export type SettleMessage = FromExec & {
  readonly settle: readonly (Settle | Left)[];
  /** Nobody waits for the answer. */
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
  /** Who is told of its end. */
  readonly over?: string | undefined;
  /** False where nobody else can ask for what came of it. */
  readonly isJoinable?: boolean | undefined;
};
export type Hired = { readonly at: number; readonly denied?: SerializedError | undefined };

export type OverMessage = At & {
  readonly execId: string;
  readonly outcome: JsonObject;
  readonly account?: AgentAccount | undefined;
  readonly settle: readonly (Settle | Left)[];
  /** It was ended from outside, without a word of its own. */
  readonly isKilled?: boolean | undefined;
};
export type JoinMessage = FromExec & { readonly child: string; readonly over: string };
export type WaitedMessage = FromExec & { readonly child: string };
/** How long a child was without a seat, and what it and all below it have used, as far as they have told. */
export type Waited = {
  readonly unseatedMs: number;
  readonly usage: Usage;
  readonly costUsd: number | null;
};

export type WantMessage = FromExec & {
  readonly key: string;
  readonly name: string;
  readonly awakeable: string;
};
export type Wanted = Standing & { readonly got?: { readonly value: JsonValue } | undefined };
export type DeliverMessage = At & { readonly id: string; readonly name: string; readonly value: JsonValue };

export type AskMessage = FromExec & {
  readonly child: string;
  readonly message: InboxMessage;
  readonly awakeable: string;
};
export type MailMessage = FromExec & {
  readonly key: string;
  readonly wait: boolean;
  readonly awakeable: string;
};
export type Mail = Standing & { readonly message?: InboxMessage | null | undefined };
export type ReplyMessage = FromExec & { readonly messageId: string; readonly value: JsonValue };

export type StopMessage = At & {
  readonly execId: string | null;
  readonly stopped: Stopped;
  /** Only that execution, and not those whom it hired. */
  readonly alone?: boolean | undefined;
};
/** Who cannot hear it, because no worker can go on with it. */
export type StopAnswer = { readonly deaf: readonly string[] };
export type ParkMessage = FromExec & { readonly awakeable: string };
export type DoubtMessage = FromExec & {
  readonly key: string;
  readonly awakeable: string;
  readonly error: SerializedError;
};
/** The agent's own code threw. One nonce for each time, so that a repeated message is not taken for another crash. */
export type CrashedMessage = At & { readonly execId: string; readonly nonce: string };
export type EndMessage = FromExec & { readonly awakeable: string };
export type RaiseMessage = FromExec & { readonly key: string; readonly more: Partial<Spend> };
/** A worker cannot go on with an execution, and says why. */
export type SuspendedMessage = At & { readonly execId: string; readonly error: SerializedError };
export type ResumeMessage = At & { readonly decisions: Decisions };
export type Resumed = { readonly refused?: SerializedError | undefined };

/** How a run stands. */
export type Standings = {
  readonly known: boolean;
  readonly version: number;
  readonly agentId?: string | undefined;
  readonly status: "pending" | "running" | "waiting" | "suspended" | "over";
  readonly error?: SerializedError | undefined;
  readonly result?: JsonObject | undefined;
  readonly inDoubt?: readonly string[] | undefined;
  readonly accounts?: readonly AgentAccount[] | undefined;
  /** The root's supervision, whose limits somebody held the tree to, and what was granted beyond them. */
  readonly supervision?: JsonObject | undefined;
  readonly granted?: Spend | undefined;
  /** What the whole tree has used. */
  readonly used?: Spend | undefined;
  readonly isCounted?: boolean | undefined;
  readonly isMetered?: boolean | undefined;
};
