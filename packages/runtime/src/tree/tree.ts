import {
  type AgentId,
  type CancellationToken,
  type Clock,
  type ExecId,
  type Headcount,
  type InboxMessage,
  isPromiseLike,
  type Journal,
  type Lease,
  type Ledger,
  type MaybePromise,
  NO_HOOKS,
  type PostedItem,
  type RaviError,
  type RunId,
  type RunScope,
  type Spend,
  type Supervision,
} from "@ravi/kernel";
import { type Decisions, messageOf } from "@ravi/kernel/loop";
import { logOf } from "../run/run-log.ts";
import type { Recording } from "../engine/recording.ts";
import type { Holder, RunJournal } from "../engine/run-journal.ts";
import type { Ports } from "../ports.ts";
import { checkHeadcount, checkLedger } from "../run/port-checks.ts";
import { type Start, scopeOf } from "../run-start.ts";
import { Accounts } from "./accounts.ts";
import { NOTHING_SPENT, plus } from "./spends.ts";
import { AskClocks } from "./ask-clocks.ts";
import type { EventHub } from "../run/event-hub.ts";
import { Mailbox } from "../engine/mailbox.ts";
import { type SignalTarget, Signals } from "./signals.ts";
import { Waits, type WaitingRun } from "./waits.ts";
import type { Drain } from "../engine/drain.ts";
import { Suspension } from "../engine/suspension.ts";
import { tryOrLog } from "../promises/try-or-log.ts";

/** The value of a message that was posted. */
type MessageValue = Pick<InboxMessage, "from" | "content" | "attachments">;

const NO_DOUBTS: readonly string[] = Object.freeze([]);

/** What a run is made of. */
export interface TreeOptions {
  readonly ports: Ports;
  readonly start: Start;
  readonly journal: RunJournal | undefined;
  readonly recording: Recording | undefined;
  readonly decisions: Decisions;
  readonly token: CancellationToken;
  readonly events: EventHub;
  readonly ambientScope: boolean;
  readonly attempts: Attempts;
}

/** Those who start the run again after a crash of its root. */
export interface Attempts {
  /** Whether they do so after this crash. */
  shouldRestart(journal: RunJournal, crash: unknown): boolean;
}

/** What all executions of one run share. */
export class Tree implements SignalTarget, WaitingRun, Holder {
  readonly ports: Ports;
  readonly root: Supervision;
  private readonly start: Start;
  readonly tenantId: string | null;
  readonly journal: RunJournal | undefined;
  readonly recording: Recording | undefined;
  readonly decisions: Decisions;
  readonly token: CancellationToken;
  /** The token of the run's handle. */
  readonly runToken: CancellationToken;
  readonly events: EventHub;
  /** Whether `getRunScope()` knows this run. */
  readonly ambientScope: boolean;
  private readonly attempts: Attempts;
  readonly accounts: Accounts;
  /** The sum of everything that was granted beyond the limits. */
  granted: Spend = NOTHING_SPENT;
  readonly headcount: Headcount | undefined;
  readonly ledger: Ledger | undefined;
  suspension: Suspension | undefined;
  /** How many model and tool calls are under way, of those that are recorded. */
  callsUnderWay = 0;
  /** Set while the run waits for them, to be suspended. */
  drain: Drain | undefined;
  /** Whether the outcome of the root is known. */
  isEnding = false;
  isClosed = false;
  /** Agents that were hired before a crash, have not ended, and were not asked for again by their parent yet. */
  unclaimedHires: Map<ExecId, AgentId> | undefined;
  // Made when they are first needed: most runs are neither resumed nor sent anything, and eight maps and sets would weigh on a run with a
  // single model call.
  private lazyScope: RunScope | undefined;
  private lazyRestored: Restored | undefined;
  private lazyDoubts: Set<string> | undefined;
  private lazySignals: Signals | undefined;
  private lazyWaits: Waits | undefined;
  private lazyClocks: AskClocks | undefined;
  private lazyMail: Map<ExecId, Mailbox> | undefined;

  constructor(options: TreeOptions) {
    const { ports, start } = options;
    const { root } = start;
    this.ports = ports;
    this.start = start;
    this.root = root;
    this.tenantId = start.tenantId;
    this.journal = options.journal;
    this.recording = options.recording;
    this.accounts = new Accounts(options.recording !== undefined);
    this.decisions = options.decisions;
    this.runToken = options.token;
    // Every start of a run has a token of its own. The handle's token outlives it, for a restart, and for what is waited for at the end. A
    // run without a journal, a history and hooks has neither, and uses the handle's token.
    const isAlone =
      ports.journal === undefined && ports.history === undefined && start.agent.hooks === undefined;
    this.token = isAlone && ports.hooks === NO_HOOKS ? options.token : options.token.child();
    this.events = options.events;
    this.ambientScope = options.ambientScope;
    this.attempts = options.attempts;
    this.headcount = ports.headcount && checkHeadcount(ports.headcount(root), root);
    this.ledger = ports.ledger && checkLedger(ports.ledger(root, undefined, start.facts));
    // Other processes may post something to the journal at any time.
    if (ports.journal !== undefined) this.lazySignals = new Signals(this);
  }

  get scope(): RunScope {
    return (this.lazyScope ??= scopeOf(this.start));
  }
  /** Ledgers and seats that were restored for a resumed run, until their executions run again. */
  get restored(): Restored {
    return (this.lazyRestored ??= { ledgers: new Map(), seats: new Set() });
  }
  restoredLedger(execId: ExecId): Ledger | undefined {
    return this.lazyRestored?.ledgers.get(execId);
  }
  /** Whether there is a restored seat for the execution. It now belongs to the caller: a second call returns false. */
  takeRestoredSeat(execId: ExecId): boolean {
    return this.lazyRestored?.seats.delete(execId) === true;
  }
  /** Keys of calls that may have been paid for twice. */
  get inDoubt(): Set<string> {
    return (this.lazyDoubts ??= new Set());
  }
  get doubts(): readonly string[] {
    return this.lazyDoubts === undefined ? NO_DOUBTS : [...this.lazyDoubts];
  }
  get signals(): Signals {
    return (this.lazySignals ??= new Signals(this));
  }
  /** What is waited for, from outside or until a time. */
  get waits(): Waits {
    return (this.lazyWaits ??= new Waits(this));
  }
  /** The time limits of those who wait for a child. */
  get askClocks(): AskClocks {
    return (this.lazyClocks ??= new AskClocks(this.ports.clock));
  }
  /** Whether somebody waits for a signal. */
  get isWaiting(): boolean {
    return this.lazySignals?.isWaiting === true;
  }

  get clock(): Clock {
    return this.ports.clock;
  }
  get store(): Journal | undefined {
    return this.ports.journal;
  }
  get runId(): RunId {
    return this.root.runId;
  }

  /** The mailbox of an execution, which need not have started yet. */
  mailboxOf(execId: ExecId): Mailbox {
    const mail = (this.lazyMail ??= new Map<ExecId, Mailbox>());
    let mailbox = mail.get(execId);
    if (mailbox === undefined) mail.set(execId, (mailbox = new Mailbox()));
    return mailbox;
  }

  hasMail(execId: ExecId): boolean {
    return this.lazyMail?.get(execId)?.hasMail === true;
  }

  /** Whether nobody reads messages to that execution any more. Those of a suspended tree may continue in the next one. */
  hasEnded(to: string): boolean {
    if (this.isEnding) return true;
    if (this.suspension !== undefined || to === this.runId) return false;
    return this.accounts.list.some(({ execId, isLiving }) => execId === to && !isLiving);
  }

  /** Whether it is on record that the message was read, before the run was resumed. */
  hasRead(to: string, id: string): boolean {
    const steps = this.recording?.of(to as ExecId).steps;
    for (let n = 1; steps?.has(`inbox#${n}`) === true; n++) {
      const read = steps.get(`inbox#${n}`)?.end?.body["value"] as InboxMessage | null | undefined;
      if (read?.id === id) return true;
    }
    return false;
  }

  /** Whether that message waits to be read. */
  holdsMail(to: string, id: string): boolean {
    return this.lazyMail?.get(to as ExecId)?.holds(id) === true;
  }

  /** Removes the mailbox of an execution that is over. */
  dropMail(execId: ExecId): void {
    this.lazyMail?.delete(execId);
  }

  /** Notes what was granted beyond the limits. It counts for the whole tree, whichever agent has asked for it. */
  grant(more: Partial<Spend>): void {
    this.granted = plus(this.granted, more);
  }

  /** Called when an execution has ended: agents that it had hired before a crash, and has not asked for again, end with it. */
  endBelow(execId: ExecId): void {
    const { unclaimedHires, accounts } = this;
    if (unclaimedHires === undefined || unclaimedHires.size === 0) return;
    // From the bottom up, because the seats of children must be free before those of their parents.
    for (const [below, agentId] of [...unclaimedHires].toReversed()) {
      if (!below.startsWith(`${execId}/`)) continue;
      unclaimedHires.delete(below);
      const account = accounts.find(below);
      if (account?.status === "pending") account.status = "cancelled";
      if (this.takeRestoredSeat(below)) void this.releaseSeat(agentId);
    }
  }

  /** Frees the seat of an agent that was restored and has ended. What it came to is known, so a failure is only logged. */
  releaseSeat(agentId: AgentId): MaybePromise<void> {
    return tryOrLog(this, "error", unreleased(agentId), () => this.headcount?.release(agentId));
  }

  /** The same with the lease of an agent. A lease that no compiler has seen may give a promise. */
  releaseLease(agentId: AgentId, lease: Lease | undefined): void {
    try {
      const freed: unknown = lease?.release();
      if (isPromiseLike(freed)) this.releaseLater(agentId, freed);
    } catch (error) {
      logOf(this, "error", unreleased(agentId), { error: messageOf(error) });
    }
  }

  // A function of its own, so that nothing is allocated for its closure if there is nothing to wait for.
  private releaseLater(agentId: AgentId, freed: PromiseLike<unknown>): void {
    void tryOrLog(this, "error", unreleased(agentId), async () => void (await freed));
  }

  /** Whether there is another attempt at the run after this crash of its root. */
  isRestartedAfter(crash: RaviError): boolean {
    return this.journal !== undefined && this.attempts.shouldRestart(this.journal, crash);
  }

  get isStopping(): boolean {
    return this.token.isCancelled || this.isEnding;
  }

  /** Whether the run was cancelled for good, and not only suspended. */
  get isCancelled(): boolean {
    return this.token.isCancelled && this.suspension === undefined;
  }

  /**
   * Stops the run in this process, so that it can be resumed later. Everything that waits or begins from now on is unwound. Returns the
   * error that does so.
   */
  suspend(message: string, why?: RaviError): Suspension {
    if (this.suspension === undefined) {
      this.suspension = new Suspension(message, why);
      // Aborts what is running. Its errors are not recorded, because a suspension is no outcome.
      this.token.cancel(message);
    }
    return this.suspension;
  }

  close(): void {
    this.isClosed = true;
    this.drain?.close();
    this.lazySignals?.close();
    this.token.dispose();
  }

  cancelledFromOutside(reason: string): void {
    (this.isEnding ? this.runToken : this.token).cancel(reason);
  }

  deliver({ id, name, value, at }: PostedItem): void {
    const { from, content, attachments } = value as MessageValue;
    const message = { id, from, content, at };
    this.mailboxOf(name as ExecId).deliver(attachments === undefined ? message : { ...message, attachments });
  }

  readPosts(): void {
    void this.signals.readPosts();
  }

  /** Called when the journal is lost: the run is suspended, and nothing of that is recorded. A run that is ending finds out by itself. */
  journalLost(why: Error): void {
    if (!this.isEnding) this.suspend(why.message);
  }

  postsUnreadable(error: unknown): void {
    const message = `the journal cannot be read; until it can, nothing that is sent to run ${this.runId} reaches it`;
    logOf(this, "error", message, { error: messageOf(error) });
  }
}

function unreleased(agentId: AgentId): string {
  return `could not release the seat of ${agentId}`;
}

interface Restored {
  readonly ledgers: Map<ExecId, Ledger>;
  readonly seats: Set<ExecId>;
}
