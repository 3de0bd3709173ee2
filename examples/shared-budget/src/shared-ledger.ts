import { DatabaseSync } from "node:sqlite";
import {
  type Actual,
  type ChargeOptions,
  type ExecutionBudgetOptions,
  InvalidValueError,
  type JsonObject,
  type Ledger,
  type Remaining,
  type Reservation,
  type ReserveOptions,
  type Settlement,
  type Spend,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { childOf } from "./child-of.ts";

/**
 * A budget that any number of processes spend from, in a SQLite file. An `ExecutionTracker` does the counting: each change reads its
 * snapshot, changes it and writes it back, in one transaction. With another database, only `change` is different.
 *
 * What a killed process had reserved stays reserved, because its calls may have been paid for.
 */
export class SharedLedger implements Ledger {
  private readonly database: DatabaseSync;
  private readonly name: string;

  /** The limits count only for a name that is new in the file. */
  constructor(file: string, name: string, budget: ExecutionBudgetOptions) {
    this.database = new DatabaseSync(file, { timeout: 10_000 });
    this.database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    this.database.exec("CREATE TABLE IF NOT EXISTS ledgers (name TEXT PRIMARY KEY, snapshot TEXT NOT NULL)");
    this.name = name;
    // Nothing is held back for a last turn: that is for the agent's own budget.
    const fresh = new ExecutionTracker(budget, { scope: name, reserve: false });
    this.database
      .prepare("INSERT OR IGNORE INTO ledgers VALUES (?, ?)")
      .run(name, JSON.stringify(fresh.snapshot()));
  }

  /** Nobody waits in line (`onFull: "queue"`), because the line of a tracker ends with its transaction. */
  reserve(estimate: Partial<Spend>, options?: ReserveOptions): Reservation {
    const { id } = this.change((tracker) => tracker.reserve(estimate, { ...options, onFull: "deny" }));
    return {
      settle: (actual) =>
        this.change((tracker) => {
          const open = tracker.reservation(id);
          if (open !== undefined) return open.settle(actual);
          const expected = "a reservation that was neither settled nor cancelled";
          throw new InvalidValueError({ field: "reservation", value: id, expected });
        }),
      cancel: () => this.change((tracker) => tracker.reservation(id)?.cancel()),
    };
  }

  charge(spent: Actual, options?: ChargeOptions): Settlement {
    return this.change((tracker) => tracker.charge(spent, options));
  }

  raise(more: Partial<Spend>): void {
    this.change((tracker) => tracker.raise(more));
  }

  /** The agents of a run are in one process, so their own counters need not be in the file. */
  child(budget: ExecutionBudgetOptions, scope: string): Ledger {
    return childOf(this, budget, scope);
  }

  /** What is left now, also after what other processes have spent. */
  remaining(): Remaining {
    return this.read().remaining();
  }

  get used(): Spend {
    return this.read().used;
  }

  snapshot(): JsonObject {
    return this.read().snapshot();
  }

  close(): void {
    this.database.close();
  }

  private change<T>(act: (tracker: ExecutionTracker) => T): T {
    // Takes the write lock at once, so that nobody can write between the reading and the writing.
    this.database.exec("BEGIN IMMEDIATE");
    try {
      const tracker = this.read();
      const result = act(tracker);
      this.database
        .prepare("UPDATE ledgers SET snapshot = ? WHERE name = ?")
        .run(JSON.stringify(tracker.snapshot()), this.name);
      this.database.exec("COMMIT");
      return result;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has rolled back already.
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
      throw error;
    }
  }

  private read(): ExecutionTracker {
    const row = this.database.prepare("SELECT snapshot FROM ledgers WHERE name = ?").get(this.name);
    return ExecutionTracker.restore(JSON.parse(String(row?.["snapshot"])), { open: "keep" });
  }
}
