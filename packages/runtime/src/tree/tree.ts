import type {
  CancellationToken,
  CreateRunContext,
  ExecId,
  Headcount,
  JsonObject,
  JsonValue,
  Ledger,
  RaviError,
  RunId,
  RunScope,
  Supervision,
} from "@ravi/kernel";
import type { Decisions } from "../engine/decisions.ts";
import type { Recording } from "../engine/recording.ts";
import type { RunJournal } from "../engine/run-journal.ts";
import type { Ports } from "../ports.ts";
import { Accounts } from "./accounts.ts";
import type { EventHub } from "./event-hub.ts";
import { Mailbox } from "../engine/mailbox.ts";
import { Signals } from "./signals.ts";
import { Suspension } from "../engine/suspension.ts";

/** What is posted as the value of a message. */
export type Letter = { readonly from: string; readonly content: JsonValue };

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
  readonly createContext: CreateRunContext;
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
  /** Builds the context of everybody who works in it. */
  readonly createContext: CreateRunContext;
  readonly accounts = new Accounts();
  readonly headcount: Headcount | undefined;
  readonly ledger: Ledger | undefined;
  /** Ledgers and seats that a resumed run had before, until their executions are there again. */
  readonly restoredLedgers = new Map<ExecId, Ledger>();
  readonly restoredSeats = new Set<ExecId>();
  /** Keys of calls that may have been paid for twice. */
  readonly inDoubt = new Set<string>();
  readonly signals: Signals;
  /** Where messages wait for their executions, those included that are not there yet. */
  readonly mail = new Map<ExecId, Mailbox>();
  suspension: Suspension | undefined;

  constructor(options: TreeOptions) {
    const { ports, root } = options;
    this.ports = ports;
    this.root = root;
    this.tenantId = options.tenantId;
    this.scope = options.scope;
    this.journal = options.journal;
    this.recording = options.recording;
    this.decisions = options.decisions;
    // A go at a run ends with its own token; the handle's outlives it, for the next go.
    this.token = options.token.child();
    this.events = options.events;
    this.ambientScope = options.ambientScope;
    this.createContext = options.createContext;
    this.headcount = ports.headcount?.(root);
    this.ledger = ports.ledger?.(root);
    this.signals = new Signals({
      runId: root.runId,
      clock: ports.clock,
      journal: ports.journal,
      onCancel: (reason) => this.token.cancel(reason),
      onMessage: ({ id, name, value, at }) => {
        const { from, content } = value as Letter;
        this.mailboxOf(name as ExecId).deliver({ id, from, content, at });
      },
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

  mailboxOf(execId: ExecId): Mailbox {
    let mailbox = this.mail.get(execId);
    if (mailbox === undefined) this.mail.set(execId, (mailbox = new Mailbox()));
    return mailbox;
  }

  /** Ends the run in this process; it keeps its place. Whoever waits or comes next is unwound. */
  suspend(message: string, why?: RaviError): Suspension {
    if (this.suspension === undefined) {
      this.suspension = new Suspension(message, why);
      // What is under way is aborted; what it says of it is not recorded, because a suspension is no outcome.
      this.token.cancel(message);
    }
    return this.suspension;
  }

  close(): void {
    this.signals.close();
    this.token.dispose();
  }
}

function describe(error: unknown): JsonObject {
  return { error: error instanceof Error ? error.message : String(error) };
}
