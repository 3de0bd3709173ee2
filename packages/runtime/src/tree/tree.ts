import {
  type CancellationToken,
  DeadlineExceededError,
  type ExecId,
  type Headcount,
  type JsonObject,
  type Ledger,
  type NeedsDecisionError,
  type RunId,
  type RunScope,
  type Supervision,
  type TimerHandle,
} from "@ravi/kernel";
import type { Decisions } from "../engine/effect.ts";
import type { Recording } from "../engine/recording.ts";
import type { RunJournal } from "../engine/run-journal.ts";
import type { Ports } from "../ports.ts";
import { Accounts } from "./accounts.ts";
import type { EventHub } from "./event-hub.ts";
import { Signals } from "./signals.ts";
import { Suspension } from "../engine/suspension.ts";

export interface TreeOptions {
  readonly ports: Ports;
  readonly root: Supervision;
  readonly tenantId: string | null;
  readonly scope: RunScope;
  readonly journal: RunJournal | undefined;
  readonly recording: Recording | undefined;
  readonly decisions: Decisions;
  readonly token: CancellationToken;
  readonly events: EventHub;
  readonly ambientScope: boolean;
}

/** What all executions of one run have in common. */
export class Tree {
  readonly ports: Ports;
  readonly root: Supervision;
  readonly tenantId: string | null;
  readonly scope: RunScope;
  readonly journal: RunJournal | undefined;
  readonly recording: Recording | undefined;
  readonly decisions: Decisions;
  readonly token: CancellationToken;
  readonly events: EventHub;
  /** Whether `getRunScope()` knows this run. */
  readonly ambientScope: boolean;
  readonly accounts = new Accounts();
  readonly headcount: Headcount | undefined;
  readonly ledger: Ledger | undefined;
  /** Ledgers and seats that a resumed run had before, until their executions are there again. */
  readonly restoredLedgers = new Map<ExecId, Ledger>();
  readonly restoredSeats = new Set<ExecId>();
  /** Keys of calls that may have been paid for twice. */
  readonly inDoubt: string[] = [];
  readonly signals: Signals;
  suspension: Suspension | undefined;
  private readonly suspendCallbacks = new Set<(suspension: Suspension) => void>();
  private deadlineTimer: TimerHandle | undefined;

  constructor(options: TreeOptions) {
    const { ports, root } = options;
    this.ports = ports;
    this.root = root;
    this.tenantId = options.tenantId;
    this.scope = options.scope;
    this.journal = options.journal;
    this.recording = options.recording;
    this.decisions = options.decisions;
    this.token = options.token;
    this.events = options.events;
    this.ambientScope = options.ambientScope;
    this.headcount = ports.headcount?.(root);
    this.ledger = ports.ledger?.(root);
    this.signals = new Signals({
      runId: root.runId,
      clock: ports.clock,
      journal: ports.journal,
      onCancel: (reason) => this.token.cancel(reason),
      onError: (error) =>
        ports.logger?.error(
          "the journal cannot be read; the run cannot be reached from outside",
          describe(error),
        ),
    });
  }

  get runId(): RunId {
    return this.root.runId;
  }

  /** The token is cancelled when the time comes, so that a call that hangs is aborted and not only noticed. */
  startDeadline(deadline: number | null): void {
    if (deadline === null) return;
    const { clock } = this.ports;
    const left = Math.max(0, deadline - clock.now());
    this.deadlineTimer = clock.setTimer?.(
      () => this.token.cancel(new DeadlineExceededError({ deadline })),
      left,
    );
  }

  /** Ends the run in this process; it keeps its place. Whoever waits or comes next is unwound. */
  suspend(message: string, why?: NeedsDecisionError): Suspension {
    if (this.suspension === undefined) {
      this.suspension = new Suspension(message, why);
      for (const callback of this.suspendCallbacks) callback(this.suspension);
      this.suspendCallbacks.clear();
    }
    return this.suspension;
  }

  /** Calls back when it is suspended, at once when it already is. Returns how to take the callback off. */
  onSuspend(callback: (suspension: Suspension) => void): () => void {
    if (this.suspension !== undefined) callback(this.suspension);
    else this.suspendCallbacks.add(callback);
    return () => this.suspendCallbacks.delete(callback);
  }

  close(): void {
    this.deadlineTimer?.cancel();
    this.deadlineTimer = undefined;
    this.signals.close();
  }
}

function describe(error: unknown): JsonObject {
  return { error: error instanceof Error ? error.message : String(error) };
}
