import type { DatabaseSync, StatementSync } from "node:sqlite";
import { isRaviError, type JsonValue, type PendingWait, type RunId, type RunSummary } from "@ravi/kernel";
import { listedError } from "@ravi/kernel/loop";
import { type Claim, type ClaimRequest, decideClaim, isHeld } from "../claims.ts";
import { openWaits, type Unread } from "../facts/open-waits.ts";
import { isEnded, isPrunable, type PrunePlan } from "../retention.ts";
import { NO_WAITS, type WaitsChange } from "../facts/noted-waits.ts";
import { type RunFacts, whoseOf } from "../facts/run-facts.ts";
import { listedReason, WITH_ERROR } from "../facts/reasons.ts";
import { damaged } from "./errors.ts";
import type { Tip } from "./log.ts";
import { RowWriter } from "./row-writer.ts";

/** A run as it is stored in the tables. */
export interface StoredRun extends Claim, Tip {
  readonly no: number;
}

interface ListedRun {
  readonly id: RunId;
  readonly agent: string;
  readonly status: RunSummary["status"];
  readonly started: number;
  readonly updated: number;
  readonly entries: number;
}

interface HeldRun extends ListedRun, Pick<Claim, "owner" | "expires"> {}

interface WaitingRun extends ListedRun {
  /** What it has noted that it waits for, without the brackets around a JSON list; null if there is nothing. */
  readonly noted: string | null;
  /** A JSON list of what it had not read by then; null if there is nothing. */
  readonly unread: string | null;
  /** The error that its last entry says, as JSON. */
  readonly error: string | null;
  /** The value of the first post that cancels it, as JSON. */
  readonly cancel: string | null;
  readonly session: unknown;
  readonly tenant: unknown;
  readonly user: unknown;
}

type ReadWaits = (runId: RunId) => readonly PendingWait[] | undefined;

interface NewTip {
  readonly run: number;
  readonly epoch: number;
  readonly entries: number;
  readonly last: number;
  readonly at: number;
}

/** An epoch that no run reaches: one of its claims took it there. For a damaged run whose own is not known. */
const UNREACHED = 1_000_000;

/** The number in a column; 0 if JavaScript cannot represent it. */
function plausible(column: string): string {
  return `iif(${column} BETWEEN 0 AND ${Number.MAX_SAFE_INTEGER}, ${column}, 0)`;
}

/** The claims and tips of all runs, and what `list` shows of them. Call inside a transaction. */
export class Runs {
  private readonly select: StatementSync;
  private readonly selectDamaged: StatementSync;
  private readonly insertRun: StatementSync;
  private readonly insertTip: StatementSync;
  private readonly updateClaim: StatementSync;
  private readonly updateFence: StatementSync;
  private readonly updateFacts: StatementSync;
  private readonly moveTip: StatementSync;
  private readonly tips: RowWriter;
  private readonly updateScope: StatementSync;
  private readonly updateHeard: StatementSync;
  private readonly deleteWaits: StatementSync;
  private readonly addWait: StatementSync;
  private readonly endWait: StatementSync;
  private readonly dataVersion: StatementSync;
  private readonly selectAll: StatementSync;
  private readonly selectListed: StatementSync;
  private readonly selectWaiting: StatementSync;
  private readonly selectSummary: StatementSync;
  private readonly deleteRun: StatementSync;
  private readonly deleteTip: StatementSync;
  private readonly selectFloor: StatementSync;
  private readonly updateFloor: StatementSync;

  constructor(db: DatabaseSync) {
    // If its tip was lost, a run is damaged, not new: its entries are -1, so that reading and appending fail.
    this.select = db.prepare(
      `SELECT no, owner, epoch, expires, coalesce(fence, epoch) AS fence, coalesce(entries, -1) AS entries,
         coalesce(last, 0) AS last
       FROM runs LEFT JOIN tips ON run = no WHERE id = ?`,
    );
    this.selectDamaged = db.prepare(
      `SELECT no, NULL AS owner, 0 AS expires, 0 AS fence, -1 AS entries, 0 AS last,
         max(${plausible("epoch")}, ${plausible("coalesce(fence, 0)")}) AS epoch
       FROM runs LEFT JOIN tips ON run = no WHERE id = ?`,
    );
    // If the row of a run was lost, its number is not given out again: the run may still be written under it.
    this.insertRun = db.prepare(
      `INSERT INTO runs VALUES (
         1 + max(coalesce((SELECT max(no) FROM runs), 0), coalesce((SELECT max(run) FROM tips), 0)),
         ?, ?, ?, ?, '', 'pending', ?, NULL, NULL, NULL, 0, NULL, 0)`,
    );
    this.insertTip = db.prepare("INSERT INTO tips VALUES (?, ?, 0, 0, ?)");
    this.updateClaim = db.prepare("UPDATE runs SET owner = ?, epoch = ?, expires = ? WHERE no = ?");
    this.updateFence = db.prepare("UPDATE tips SET fence = ? WHERE run = ?");
    this.updateFacts = db.prepare(
      `UPDATE runs SET agent = coalesce(?, agent), status = coalesce(?, status), started = coalesce(?, started),
         error = ?, erred = ? WHERE no = ?`,
    );
    this.moveTip = db.prepare(
      "UPDATE tips SET entries = ?, last = ?, updated = ? WHERE run = ? AND fence = ? AND entries = ?",
    );
    this.tips = new RowWriter(db, "REPLACE INTO tips", 5);
    this.dataVersion = db.prepare("PRAGMA data_version");
    // As REAL: an integer that JavaScript cannot represent, after a flipped bit, would make the whole list fail.
    const summary = `id, agent, status, CAST(started AS REAL) AS started,
         CAST(coalesce(updated, started) AS REAL) AS updated, CAST(coalesce(entries, 0) AS REAL) AS entries`;
    const listed = `SELECT ${summary}, owner, CAST(expires AS REAL) AS expires FROM runs LEFT JOIN tips ON run = no`;
    this.selectAll = db.prepare(`${listed} ORDER BY no`);
    const waiting = `SELECT ${summary}, session, tenant, user, iif(erred = entries, error, NULL) AS error,
         (SELECT value FROM items WHERE items.run = runs.id AND kind = 'cancel' ORDER BY seq LIMIT 1) AS cancel,
         (SELECT group_concat(wait, ',' ORDER BY waits.no) FROM waits WHERE waits.run = runs.no) AS noted,
         iif(EXISTS (SELECT 1 FROM waits WHERE waits.run = runs.no),
           (SELECT json_group_array(iif(kind = 'signal', name, NULL)) FROM items
            WHERE items.run = runs.id AND seq > heard AND kind IN ('signal', 'cancel') HAVING count(*) > 0), NULL) AS unread
       FROM runs LEFT JOIN tips ON run = no`;
    this.selectWaiting = db.prepare(`${waiting} ORDER BY no`);
    this.selectSummary = db.prepare(`${waiting} WHERE id = ?`);
    this.updateScope = db.prepare("UPDATE runs SET session = ?, tenant = ?, user = ? WHERE no = ?");
    this.updateHeard = db.prepare("UPDATE runs SET heard = ? WHERE no = ?");
    this.deleteWaits = db.prepare("DELETE FROM waits WHERE run = ?");
    // One that is noted again keeps its place.
    this.addWait = db.prepare(
      `INSERT INTO waits (run, id, wait) VALUES (?, ?, ?)
       ON CONFLICT (run, id) DO UPDATE SET wait = excluded.wait`,
    );
    this.endWait = db.prepare("DELETE FROM waits WHERE run = ? AND id = ?");
    this.selectListed = db.prepare(`${listed} WHERE id = ?`);
    this.deleteRun = db.prepare("DELETE FROM runs WHERE no = ?");
    this.deleteTip = db.prepare("DELETE FROM tips WHERE run = ?");
    this.selectFloor = db.prepare("SELECT epoch FROM deleted");
    this.updateFloor = db.prepare("UPDATE deleted SET epoch = max(epoch, ?)");
  }

  /** Throws a `JournalCorruptError` if it has a number that JavaScript cannot represent. */
  find(runId: RunId): StoredRun | undefined {
    if (!isFindable(runId)) return undefined;
    try {
      return this.select.get(runId) as (Record<string, unknown> & StoredRun) | undefined;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      throw damaged(runId, 0, "a number in its row is damaged", error);
    }
  }

  /** The same for a run that is to be deleted. Of a damaged one only its number is true, and that its epoch was not higher. */
  findToDelete(runId: RunId): StoredRun | undefined {
    try {
      return this.find(runId);
    } catch (error) {
      if (!isRaviError(error, "JOURNAL_CORRUPT")) throw error;
      const run = this.selectDamaged.get(runId) as (Record<string, unknown> & StoredRun) | undefined;
      return run && { ...run, epoch: run.epoch === 0 ? UNREACHED : run.epoch };
    }
  }

  claim(runId: RunId, request: ClaimRequest): Claim | null {
    const current = this.find(runId);
    const floor = current === undefined ? Number(this.selectFloor.get()?.["epoch"]) : 0;
    const claim = decideClaim(current, request, floor);
    if (claim === null) return null;
    if (current === undefined) {
      const { lastInsertRowid } = this.insertRun.run(
        runId,
        claim.owner,
        claim.epoch,
        claim.expires,
        request.now,
      );
      this.insertTip.run(lastInsertRowid, claim.epoch, request.now);
    } else {
      this.updateClaim.run(claim.owner, claim.epoch, claim.expires, current.no);
      if (current.fence !== claim.epoch) this.updateFence.run(claim.epoch, current.no);
    }
    return claim;
  }

  release(runId: RunId, epoch: number): void {
    const current = this.heldUnder(runId, epoch);
    if (current === undefined) return;
    this.updateClaim.run(null, epoch, 0, current.no);
    this.updateFence.run(0, current.no);
  }

  abandon(runId: RunId, epoch: number): void {
    const current = this.heldUnder(runId, epoch);
    if (current?.entries === 0) this.delete(current);
  }

  /** The run, if this is the epoch of its claim. The fence of a released run is 0, which is no valid epoch. */
  private heldUnder(runId: RunId, epoch: number): StoredRun | undefined {
    const current = this.find(runId);
    return epoch > 0 && current?.fence === epoch ? current : undefined;
  }

  /**
   * Moves a run's tip. Returns false and changes nothing if another epoch holds the run, or if the number of its entries is not
   * `from`.
   */
  advance({ run, epoch, entries, last, at }: NewTip, from: number): boolean {
    return Number(this.moveTip.run(entries, last, at, run, epoch, from).changes) === 1;
  }

  /** The same without comparing, for a run that certainly nobody else has touched. Written with the next `flush`. */
  advanceUnchecked({ run, epoch, entries, last, at }: NewTip): void {
    this.tips.add(run, epoch, entries, last, at);
  }

  flush(): void {
    this.tips.flush();
  }

  /** A number that changes whenever another connection has written to the file. */
  version(): number {
    return Number(this.dataVersion.get()?.["data_version"]);
  }

  /** Notes what entries up to number `seq` say of the run. `error` is that of the last one. */
  note(run: number, seq: number, facts: RunFacts, error: RunSummary["error"]): void {
    const { agent, status, startedAt, whose, waits = [] } = facts;
    const text = error === undefined ? null : JSON.stringify(error);
    this.updateFacts.run(agent ?? null, status ?? null, startedAt ?? null, text, seq, run);
    if (whose !== undefined)
      this.updateScope.run(whose.sessionId ?? null, whose.tenantId ?? null, whose.userId ?? null, run);
    for (const change of waits) this.noteWaits(run, change);
  }

  /** `noted` reads the waits of a run from its entries, for one whose row is damaged. */
  list(noted: ReadWaits): RunSummary[] {
    const runs = this.selectWaiting.all() as (Record<string, unknown> & WaitingRun)[];
    return runs.map((run) => withWaits(run, noted));
  }

  /** The same for one run. */
  summary(runId: RunId, noted: ReadWaits): RunSummary | undefined {
    if (!isFindable(runId)) return undefined;
    const run = this.selectSummary.get(runId) as (Record<string, unknown> & WaitingRun) | undefined;
    return run && withWaits(run, noted);
  }

  /** The runs that the plan allows to delete and that nobody holds. */
  prunable(plan: PrunePlan, now: number): RunId[] {
    const runs = this.selectAll.all() as (Record<string, unknown> & HeldRun)[];
    return runs.filter((run) => isFree(run, plan, now)).map((run) => run.id);
  }

  /** The same check for one run, at a later time. */
  isPrunable(runId: RunId, plan: PrunePlan, now: number): boolean {
    const run = this.selectListed.get(runId) as (Record<string, unknown> & HeldRun) | undefined;
    return run !== undefined && isFree(run, plan, now);
  }

  delete(run: StoredRun): void {
    this.updateFloor.run(run.epoch);
    this.deleteRun.run(run.no);
    this.deleteTip.run(run.no);
    this.deleteWaits.run(run.no);
  }

  private noteWaits(run: number, change: WaitsChange): void {
    if (change === NO_WAITS) return void this.deleteWaits.run(run);
    const { over, begun, heard } = change;
    this.updateHeard.run(heard, run);
    for (const id of over) this.endWait.run(run, id);
    for (const [id, wait] of begun) this.addWait.run(run, id, wait);
  }
}

/** SQLite stores UTF-8: an unpaired surrogate would be stored, and found, as another id. */
function isFindable(runId: RunId): boolean {
  return typeof runId === "string" && runId.isWellFormed();
}

function isFree(run: HeldRun, plan: PrunePlan, now: number): boolean {
  return !isHeld(run, now) && isPrunable(summaryOf(run), plan);
}

function summaryOf(run: ListedRun): RunSummary {
  const { id, agent, status, started, updated, entries } = run;
  return { runId: id, agent, status, startedAt: started, updatedAt: updated, entries };
}

function withWaits(run: WaitingRun, noted: ReadWaits): RunSummary {
  const error = run.error !== null && WITH_ERROR.includes(run.status) ? notedError(run.error) : undefined;
  const cancelReason = run.cancel === null || isEnded(run.status) ? undefined : postedReason(run.cancel);
  const summary = {
    ...summaryOf(run),
    ...whoseOf(run.session, run.tenant, run.user),
    ...(error !== undefined && { error }),
    ...(cancelReason !== undefined && { cancelReason }),
  };
  if (run.noted === null || isEnded(run.status)) return summary;
  const unread = run.unread === null ? [] : (JSON.parse(run.unread) as readonly Unread[]);
  const waits = waitsIn(`[${run.noted}]`) ?? noted(run.id);
  const waitingFor = waits === undefined ? undefined : openWaits(waits, unread);
  return waitingFor === undefined ? summary : { ...summary, waitingFor };
}

/** Undefined if the text is damaged. */
function notedError(text: string): RunSummary["error"] {
  try {
    return listedError(JSON.parse(text) as JsonValue);
  } catch {
    return undefined;
  }
}

function postedReason(value: string): string {
  try {
    return listedReason(JSON.parse(value) as JsonValue);
  } catch {
    // Damaged. That it was cancelled is known.
    return listedReason(null);
  }
}

/** Undefined if the text is damaged. */
function waitsIn(text: string): readonly PendingWait[] | undefined {
  try {
    const waits: unknown = JSON.parse(text);
    return Array.isArray(waits) && waits.every(isWait) ? waits : undefined;
  } catch {
    return undefined;
  }
}

const KINDS: readonly unknown[] = ["approval", "signal", "timer", "decision"] satisfies PendingWait["kind"][];

/** Whoever lists runs shows all of this, and builds commands of it. */
function isWait(value: unknown): value is PendingWait {
  if (typeof value !== "object" || value === null) return false;
  const { kind, name, agentId, execId, since }: Partial<Record<keyof PendingWait, unknown>> = value;
  const areTexts = [name, agentId, execId].every((text) => typeof text === "string");
  return areTexts && KINDS.includes(kind) && typeof since === "number";
}
