import type {
  JournalEntry,
  JournalRecord,
  JsonObject,
  JsonValue,
  PendingWait,
  PostedItem,
  RunId,
  RunSummary,
} from "@ravi/kernel";
import type { Indexed, Linked } from "@ravi/kernel/loop";
import type { Claim } from "../claims.ts";
import {
  checkEntry,
  checkFields,
  type KnownNames,
  plainZero,
  refuseNoEntry,
} from "../entries/entry-check.ts";
import { EntryList, type KeptBody } from "../entries/entry-list.ts";
import { duplicateError, Identities } from "../entries/identities.ts";
import { NO_WAITS, NotedWaits } from "../facts/noted-waits.ts";
import { openWaits } from "../facts/open-waits.ts";
import { stringify } from "./plain-json.ts";
import { isEnded } from "../retention.ts";
import { factsOf, type RunFacts, type Whose } from "../facts/run-facts.ts";
import { listedReason, errorIn, WITH_ERROR } from "../facts/reasons.ts";

/** Up to this many entries are searched one by one. An index of their identities would take 0.3 kB a run. */
const FEW = 24;

/** Everything that was posted to a run, in order. */
export interface PostedTo {
  readonly items: readonly Pick<PostedItem, "kind" | "name">[];
  /** The value of the first that cancels it. */
  readonly cancel: JsonValue | undefined;
}

const NOTHING: PostedTo = { items: [], cancel: undefined };

/** One run in memory. */
export class MemoryRun implements Linked<MemoryRun>, Indexed<MemoryRun>, KnownNames {
  readonly runId: RunId;
  before: MemoryRun | undefined;
  after: MemoryRun | undefined;
  hash = 0;
  alike: MemoryRun | undefined;
  claim: Claim;
  private agent = "";
  private status: RunSummary["status"] = "pending";
  private startedAt: number;
  private updatedAt: number;
  private whose: Whose | undefined;
  private waits: NotedWaits | undefined;
  /** The error in the status that was the last entry when there were so many: a list must not read whole results. */
  private lastError: RunSummary["error"];
  private erred = 0;
  private readonly kept = new EntryList();
  /** The identities of its entries, once there are many. */
  identities: Identities | undefined;

  constructor(runId: RunId, claim: Claim, now: number) {
    this.runId = runId;
    this.claim = claim;
    this.startedAt = now;
    this.updatedAt = now;
  }

  /** It was claimed, and nothing was recorded yet. */
  get isEmpty(): boolean {
    return this.kept.length === 0;
  }

  get hasEnded(): boolean {
    return isEnded(this.status);
  }

  get text(): string {
    return this.runId;
  }

  /** Before the first entry the run's own id, which is that of its root's execution and was checked when the run was claimed. */
  get exec(): string {
    return this.kept.exec ?? this.runId;
  }

  get key(): string | undefined {
    return this.kept.key;
  }

  /** Appends all entries or none: everything that may throw, or run the caller's code, comes before the first is stored. */
  append(entries: readonly JournalEntry[]): void {
    const [only] = entries;
    // Nearly always it is one entry.
    if (entries.length !== 1 || only === undefined) return this.appendAll(entries);
    refuseNoEntry(only);
    const { exec, key, attempt, phase, at, body, given } = only;
    checkFields(exec, key, attempt, phase, at, body, this);
    const kept = given === body ? body : stringify(body);
    const facts =
      phase === "note" ? factsOf(this.runId, [[exec, key, attempt, phase, plainZero(at), body]]) : undefined;
    const error = facts && errorIn(this.runId, { exec, key, body });
    if (!this.isNew(exec, key, attempt, phase)) throw duplicateError(this.runId, [exec, key, attempt, phase]);
    this.updatedAt = plainZero(at);
    this.kept.push(exec, key, plainZero(attempt), phase, this.updatedAt, kept);
    if (facts !== undefined) this.learn(facts, error);
  }

  records(): JournalRecord[] {
    // Asked for each new run.
    if (this.isEmpty) return [];
    return this.kept
      .toArray()
      .map((entry, index) => ({ seq: index + 1, ...entry, body: copyOf(entry.body) }));
  }

  summary(posted: PostedTo = NOTHING): RunSummary {
    const { runId, agent, status, startedAt, updatedAt, kept, whose, waits, error } = this;
    const { cancel } = posted;
    const cancelReason = this.hasEnded || cancel === undefined ? undefined : listedReason(cancel);
    const summary = {
      runId,
      agent,
      status,
      startedAt,
      updatedAt,
      entries: kept.length,
      ...whose,
      ...(error !== undefined && { error }),
      ...(cancelReason !== undefined && { cancelReason }),
    };
    if (waits === undefined || this.hasEnded) return summary;
    const unread = posted.items
      .slice(waits.heard)
      .filter(({ kind }) => kind === "signal" || kind === "cancel")
      .map(({ kind, name }) => (kind === "cancel" ? null : name));
    const waitingFor = openWaits(JSON.parse(waits.text) as readonly PendingWait[], unread);
    return waitingFor === undefined ? summary : { ...summary, waitingFor };
  }

  private get error(): RunSummary["error"] {
    const { lastError } = this;
    if (lastError === undefined || this.erred !== this.kept.length) return undefined;
    return WITH_ERROR.includes(this.status) ? { ...lastError } : undefined;
  }

  private appendAll(entries: readonly JournalEntry[]): void {
    const rows = entries.map((entry) => checkEntry(entry, undefined));
    const bodies = rows.map((row, index) => (entries[index]?.given === row[5] ? row[5] : stringify(row[5])));
    const facts = factsOf(this.runId, rows);
    const last = rows.at(-1);
    const error = facts && last && errorIn(this.runId, { exec: last[0], key: last[1], body: last[5] });
    const duplicate = this.allIdentities().addAll(rows);
    if (duplicate !== undefined) throw duplicateError(this.runId, duplicate);
    for (const [index, [exec, key, attempt, phase, at]] of rows.entries())
      this.kept.push(exec, key, attempt, phase, at, bodies[index] ?? "null");
    this.updatedAt = last?.[4] ?? this.updatedAt;
    if (facts !== undefined) this.learn(facts, error);
  }

  private isNew(exec: string, key: string, attempt: number, phase: string): boolean {
    if (this.identities === undefined && this.kept.length < FEW)
      return !this.kept.has(exec, key, attempt, phase);
    return this.allIdentities().add(exec, key, attempt, phase);
  }

  private allIdentities(): Identities {
    if (this.identities === undefined) {
      this.identities = new Identities();
      for (const { exec, key, attempt, phase } of this.kept.toArray()) {
        this.identities.add(exec, key, attempt, phase);
      }
    }
    return this.identities;
  }

  /** `error` is that of the last entry. */
  private learn(facts: RunFacts, error: RunSummary["error"]): void {
    this.lastError = error;
    this.erred = this.kept.length;
    this.agent = facts.agent ?? this.agent;
    this.status = facts.status ?? this.status;
    this.startedAt = facts.startedAt ?? this.startedAt;
    this.whose = facts.whose ?? this.whose;
    for (const change of facts.waits ?? []) {
      if (change === NO_WAITS) this.waits = undefined;
      else (this.waits ??= new NotedWaits()).apply(change);
    }
  }
}

function copyOf(body: KeptBody): JsonObject {
  return JSON.parse(typeof body === "string" ? body : stringify(body)) as JsonObject;
}
