import type { AgentId, ExecId, RunId, SessionId } from "../core/ids.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { MaybePromise } from "../core/types.ts";
import type { RunStatus } from "../agent/handle.ts";
import type { SerializedError } from "../errors/to-json.ts";

/**
 * One entry, unique by (exec, key, attempt, phase). What is no entry, and is refused by a journal: an empty `exec`, a `key` that is empty
 * or has a line break in it, an `attempt` that is no whole number, another `phase`, a time that is not finite, a `body` that is no object,
 * or that JSON cannot write. A body with a `toJSON` is kept as what JSON writes for it in a list, even if that is no object. An effect,
 * such as a model call, has a `begin` that is written before anything is sent, and an `end` with its outcome. A `note` is any other fact:
 * an input, a status, a time.
 */
export interface JournalEntry {
  readonly exec: ExecId;
  /** `kind:name#n` */
  readonly key: string;
  /** Counts from 1. */
  readonly attempt: number;
  readonly phase: "begin" | "end" | "note";
  /** Epoch milliseconds. */
  readonly at: number;
  readonly body: JsonObject;
  /**
   * The same object as `body`, if it is plain JSON that nobody else will change. A journal in memory may then keep it without a copy.
   * If it is absent or another object than `body`, the journal copies `body` and refuses what is not JSON. It is never stored.
   */
  readonly given?: JsonObject | undefined;
}

export interface JournalRecord extends JournalEntry {
  /** Counts from 1 in each run, without gaps. */
  readonly seq: number;
}

/**
 * Something sent to a run from outside: a message, an answer, a decision, a request to cancel. What is no item, and is refused by a
 * journal: an empty `id`, another `kind`, a `name` that is no text, a time that is not finite, a `value` that JSON cannot write.
 */
export interface PostedItem {
  /** A second item with the same id is ignored. */
  readonly id: string;
  readonly kind: "signal" | "message" | "decision" | "cancel";
  readonly name: string;
  readonly value: JsonValue;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface PostedRecord extends PostedItem {
  /** Grows with each item of a run. Give the last one to `items` to read only newer ones. */
  readonly seq: number;
}

/** Something that a run waits for. */
export interface PendingWait {
  /**
   * `approval`: somebody has to allow a tool call, or to grant more budget. `signal`: a value for `ctx.waitFor`. `timer`: the end of a
   * sleep. `decision`: somebody has to say what becomes of a tool call that was in flight at a crash.
   */
  readonly kind: "approval" | "signal" | "timer" | "decision";
  /** How to answer it: the `name` for `deliver`; for a decision, its key in `decisions` of `resume`. A timer needs no answer. */
  readonly name: string;
  /** The agent that waits. */
  readonly agentId: AgentId;
  readonly execId: ExecId;
  /** Epoch milliseconds. */
  readonly since: number;
  /** When a timer ends, in epoch milliseconds. */
  readonly until?: number | undefined;
  /**
   * What was asked, as in the event `approvalRequested`: for a tool an object with `tool`, `callId` and `arguments`. If it takes more
   * than 20,000 characters, it has only its short fields.
   */
  readonly question?: JsonValue | undefined;
}

export interface RunSummary {
  readonly runId: RunId;
  /** `name@version` of the root. */
  readonly agent: string;
  readonly status: RunStatus;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The `at` of the newest entry, or when it was first claimed. */
  readonly updatedAt: number;
  /** How many entries it has. */
  readonly entries: number;
  /** The conversation that it belongs to. Absent if the journal does not tell, or if the run has not started yet. */
  readonly sessionId?: SessionId | undefined;
  /** The customer that it was started for. Absent if none was named, or if the journal does not tell. */
  readonly tenantId?: string | undefined;
  /** The user that it was started for. Absent if none was named, or if the journal does not tell. */
  readonly userId?: string | undefined;
  /** What it waits for and nobody has answered yet. Absent if there is nothing, or if the journal or the engine does not tell. */
  readonly waitingFor?: readonly PendingWait[] | undefined;
  /**
   * Why it is suspended, has failed, or ended otherwise before it was done. Its message may be cut. Absent if it has no error, or if the
   * journal or the engine does not tell.
   */
  readonly error?: Pick<SerializedError, "code" | "message"> | undefined;
  /**
   * Why it was cancelled, if it has not ended yet; it may be cut. It does no more work: it ends in the process that has it, or when it
   * is next resumed. Absent if nobody has cancelled it, if it has ended, or if the journal or the engine does not tell.
   */
  readonly cancelReason?: string | undefined;
}

/** A subscription to what is posted to a run. */
export interface JournalWatch {
  /** Whether posts from other processes are reported too. If not, the subscriber has to poll `items` as well. */
  readonly coversAll: boolean;
  /**
   * Tells the journal whether somebody waits for a post now. While one may come from another process, it keeps this process alive.
   * Without this method the subscriber polls as well, with a timer that keeps the process alive.
   */
  awaits?(isAwaited: boolean): void;
  stop(): void;
}

/** Stores what must survive a crash. Only the holder of a run's claim may append to it; each append names the claim's epoch. */
export interface Journal {
  /**
   * Takes a run for `ttlMs`, or renews it for the same owner, under the same epoch, also if its time has run out meanwhile and nobody
   * else has taken it. Gives null if another owner holds it and its time has not run out. Every new claim has a higher epoch than all before it, also if the run was deleted in between. Throws an
   * `InvalidValueError` if the owner is empty or `ttlMs` is not a whole number above 0. If the run is taken from an owner that did not
   * give it back, `lapsedAt` may say until when that one had claimed it, in epoch milliseconds: without it, the time in which no process
   * had the run counts for the time limits of hires.
   */
  claim(
    runId: RunId,
    owner: string,
    ttlMs: number,
  ): MaybePromise<{ readonly epoch: number; readonly lapsedAt?: number | undefined } | null>;
  /** Who holds the run, and until when (epoch milliseconds), for error messages. Undefined if nobody does. */
  holder?(runId: RunId): MaybePromise<{ readonly owner: string; readonly expires: number } | undefined>;
  /** Gives the claim back. Does nothing if it has a newer epoch. */
  release(runId: RunId, epoch: number): MaybePromise<void>;
  /** Gives back the claim of a run that has no entries yet, and no longer lists the run. What was posted to it stays. */
  abandon?(runId: RunId, epoch: number): MaybePromise<void>;
  /**
   * All entries in the order of `seq`; empty if the run is not known. Nothing that the caller does to them changes what is stored.
   */
  load(runId: RunId): MaybePromise<readonly JournalRecord[]>;
  /**
   * Writes all entries or none; they are durable when it resolves. It copies them when it is called. It may be called again before
   * it has resolved: then the entries keep the order of the calls, and a `load` after these calls has all of them. Throws a `JournalLockedError` if the epoch is no longer current
   * or the claim was given back, and an `InvalidValueError` if something is no entry, or if an entry with the same `exec`, `key`,
   * `attempt` and `phase` is there already.
   */
  append(runId: RunId, epoch: number, entries: readonly JournalEntry[]): MaybePromise<void>;
  /**
   * Sends something to a run, which need not be on record yet. It needs no claim, so any process may do it. Items keep the order of the
   * calls, as entries do. Throws an `InvalidValueError` if it is no item.
   */
  post(runId: RunId, item: PostedItem): MaybePromise<void>;
  /**
   * What was posted, from the first item whose `seq` is greater than `after`. Nothing that the caller does to it changes what is stored.
   * Throws an `InvalidValueError` if `after` is below 0.
   */
  items(runId: RunId, after: number): MaybePromise<readonly PostedRecord[]>;
  /** Calls `listener` whenever something may have been posted to the run. Never throws. If it is absent, the runtime polls. */
  watch?(runId: RunId, listener: () => void): JournalWatch;
  /**
   * All runs that were ever claimed, unless they were abandoned or deleted. What a summary shows is in notes of the root (`phase` is `note`, `exec` the run's id):
   * `run:start` or `run:start#n` has the `agent` in its body, and its `at` is `startedAt`; the latest `run:status` or `run:status#n`
   * has the `status` (if it is none of `RunStatus`, it does not count). A run is `pending` before its start is noted, and `running` from then until a status is.
   * A journal that tells whose runs it has finds `tenantId`, `userId` and `supervision.sessionId` in the body of the start; null or no text counts as none.
   *
   * A journal that tells what runs wait for finds it in `run:waits` or `run:waits#n`. Each has in its body `waits` that have begun, with
   * their `keys`, and `over`: which of those noted before are over, each as `execId:key`. A body of another shape does not
   * count. `waitingFor` is what is left, in the order of the notes, until a status other than `suspended` is noted. A wait that is noted again
   * takes the place of the one before. Left out are waits that are answered: each signal with a `seq` above `heard` of the latest such
   * body answers the first wait of its name that is a `signal` or an `approval`, and a `cancel` above it all of them.
   *
   * A journal that tells why runs stand as they do takes `error` from the body of the status if that is the last entry of the run; without
   * a text as its `message` it counts as none. `cancelReason` is the `value` of the first `cancel` that was posted, until the run has
   * ended; if it is no text, "cancelled from outside".
   */
  list(): MaybePromise<readonly RunSummary[]>;
  /**
   * What `list` has of one run, with all that was appended before; undefined if it is not listed. If this method is absent, the
   * runtime loads the run.
   */
  summary?(runId: RunId): MaybePromise<RunSummary | undefined>;
  /** Removes a run with its entries and posts, even if it is claimed. */
  delete(runId: RunId): MaybePromise<void>;
  /** What was appended and posted before this call is still written. Closing twice is closing once. */
  close(): MaybePromise<void>;
}

/** Stores values that are too large for an entry. */
export interface BlobStore {
  /** Stores the bytes and gives the reference to read them with. */
  put(bytes: Uint8Array): MaybePromise<string>;
  get(ref: string): MaybePromise<Uint8Array>;
}
