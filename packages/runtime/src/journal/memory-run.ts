import type { JournalEntry, JournalRecord, JsonObject, RunId, RunSummary } from "@ravi/kernel";
import type { Claim } from "./claims.ts";
import { checkEntry, checkFields, plainZero, refuseNoEntry } from "./entry-check.ts";
import { EntryList, type KeptBody } from "./entry-list.ts";
import { duplicateError, Identities } from "./identities.ts";
import { stringify } from "./plain-json.ts";
import { factsOf, type RunFacts } from "./run-facts.ts";

/** Up to so many entries a look through all of them does without a map of their identities, which weighs 0.3 kB a run. */
const FEW = 24;

/** One run as it is kept in memory. */
export class MemoryRun {
  readonly runId: RunId;
  claim: Claim;
  private agent = "";
  private status: RunSummary["status"] = "pending";
  private startedAt: number;
  private updatedAt: number;
  private readonly kept = new EntryList();
  private identities: Identities | undefined;

  constructor(runId: RunId, claim: Claim, now: number) {
    this.runId = runId;
    this.claim = claim;
    this.startedAt = now;
    this.updatedAt = now;
  }

  /** All of them or none: what may throw, or run code of the caller's, comes before the first is kept. */
  append(entries: readonly JournalEntry[]): void {
    const [only] = entries;
    // Nearly always it is one.
    if (entries.length !== 1 || only === undefined) return this.appendAll(entries);
    refuseNoEntry(only);
    const { exec, key, attempt, phase, at, body } = only;
    checkFields(exec, key, attempt, phase, at, body, this.kept);
    const kept = keptBody(body);
    const facts =
      phase === "note" ? factsOf(this.runId, [[exec, key, attempt, phase, plainZero(at), body]]) : undefined;
    if (!this.isNew(exec, key, attempt, phase)) throw duplicateError(this.runId, [exec, key, attempt, phase]);
    this.updatedAt = plainZero(at);
    this.kept.push(exec, key, plainZero(attempt), phase, this.updatedAt, kept);
    if (facts !== undefined) this.learn(facts);
  }

  records(): JournalRecord[] {
    return this.kept
      .toArray()
      .map((entry, index) => ({ seq: index + 1, ...entry, body: copyOf(entry.body) }));
  }

  summary(): RunSummary {
    const { runId, agent, status, startedAt, updatedAt, kept } = this;
    return { runId, agent, status, startedAt, updatedAt, entries: kept.length };
  }

  private appendAll(entries: readonly JournalEntry[]): void {
    const rows = entries.map((entry) => checkEntry(entry, undefined));
    const bodies = rows.map((row) => keptBody(row[5]));
    const facts = factsOf(this.runId, rows);
    const duplicate = this.allIdentities().addAll(rows);
    if (duplicate !== undefined) throw duplicateError(this.runId, duplicate);
    for (const [index, [exec, key, attempt, phase, at]] of rows.entries())
      this.kept.push(exec, key, attempt, phase, at, bodies[index] ?? "null");
    this.updatedAt = rows.at(-1)?.[4] ?? this.updatedAt;
    if (facts !== undefined) this.learn(facts);
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

  private learn(facts: RunFacts): void {
    this.agent = facts.agent ?? this.agent;
    this.status = facts.status ?? this.status;
    this.startedAt = facts.startedAt ?? this.startedAt;
  }
}

/**
 * As text; see `EncodedEntries` for why. What is frozen stays as it is: to write its text takes a fifth of the time of a turn with
 * everything on.
 */
function keptBody(body: JsonObject): KeptBody {
  return Object.isFrozen(body) ? body : stringify(body);
}

function copyOf(body: KeptBody): JsonObject {
  return JSON.parse(typeof body === "string" ? body : stringify(body)) as JsonObject;
}
