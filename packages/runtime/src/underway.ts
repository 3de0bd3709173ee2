import {
  type Agent,
  type AgentId,
  CancellationToken,
  type AbortSignalLike,
  ExecId,
  type PostedItem,
  type RootHandle,
  type RunEvent,
  type RunId,
  type RunResult,
  type RunStatus,
  type RunSummary,
  type Supervision,
} from "@ravi/kernel";
import { type Linked, versionName } from "@ravi/kernel/loop";
import type { EventHub } from "./tree/event-hub.ts";
import type { Tree } from "./tree/tree.ts";

/** A run that lives here, from before its tree exists until its result does. */
export class Underway implements Linked<Underway> {
  before: Underway | undefined;
  after: Underway | undefined;
  readonly runId: RunId;
  readonly token: CancellationToken;
  readonly events: EventHub;
  tree: Tree | undefined;
  /** Why it is to be suspended as soon as it begins: somebody closed the runtime before. */
  suspended: string | undefined;
  /** Ends the wait for the next go, or that for a journal. */
  wake: (() => void) | undefined;
  /** Of the whole of it. */
  result: Promise<RunResult> | undefined;
  agentId: AgentId;
  status: RunStatus = "pending";
  readonly startedAt: number;
  /** Undefined where the record says which it is. */
  private readonly agent: Agent | undefined;
  /** Something was left in its journal before it began. */
  isAddressed = false;
  /** What was said to it before there was anybody to hear it, where no journal keeps it. */
  private early: PostedItem[] | undefined;

  constructor(
    { runId, agentId }: Pick<Supervision, "runId" | "agentId">,
    signal: AbortSignalLike | undefined,
    events: EventHub,
    startedAt: number,
    agent: Agent | undefined,
  ) {
    this.runId = runId;
    this.agentId = agentId;
    this.token = new CancellationToken(signal);
    this.events = events;
    this.startedAt = startedAt;
    this.agent = agent;
  }

  /** As it looks from outside. */
  get seenStatus(): RunStatus {
    const { status, tree } = this;
    return status === "running" && tree?.isWaiting === true ? "suspended" : status;
  }

  /** Nobody wants it to go on here: it was cancelled or suspended, or its time is up. */
  get isStopped(): boolean {
    return this.suspended !== undefined || this.token.isCancelled || this.tree?.token.isCancelled === true;
  }

  /** For a list of runs that no journal keeps: nothing is on record of it. */
  summary(): RunSummary {
    const { runId, agent, startedAt } = this;
    const name = agent === undefined ? this.agentId : versionName(agent);
    return { runId, agent: name, status: this.seenStatus, startedAt, updatedAt: startedAt, entries: 0 };
  }

  /** Something was left for it in its journal. Before there is anybody to hear it, that is the first thing to be looked at. */
  look(): Promise<void> | undefined {
    if (this.tree === undefined) this.isAddressed = true;
    return this.tree?.signals.look();
  }

  /** Something from outside, where no journal keeps it. */
  accept(item: PostedItem): void {
    if (this.tree === undefined) (this.early ??= []).push(item);
    else this.tree.signals.accept(item);
  }

  /** One that is ending, or was cancelled, comes to its end by itself: there is nothing left to go on with. */
  suspend(message: string): void {
    const { tree, token } = this;
    const isOver = tree?.isEnding === true || token.isCancelled || tree?.token.isCancelled === true;
    // Another go, after a crash, would be suspended as soon as it begins; who waits for one waits no longer.
    this.suspended = message;
    if (!isOver) tree?.suspend(message);
    // What came of it is known: only those who work beside it hear of this, and are not waited for.
    else if (tree?.isEnding === true) token.cancel(message);
    this.wake?.();
  }

  /** The next go at it has begun. */
  enter(tree: Tree): void {
    this.tree = tree;
    for (const item of this.early ?? []) tree.signals.accept(item);
    this.early = undefined;
    if (this.suspended !== undefined) tree.suspend(this.suspended);
  }

  close(): void {
    this.events.close();
    this.token.dispose();
  }
}

/**
 * What `run` gives. A class, because getters of an object literal are defined anew for each object: a tenth of the time of a run
 * that makes one model call.
 */
export class LiveHandle implements RootHandle {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly result: Promise<RunResult>;
  /** Functions of their own, so that they may be taken from the handle. */
  readonly cancel: (reason: string) => void;
  readonly events: () => AsyncIterable<RunEvent>;
  private readonly run: Underway;

  constructor(run: Underway, result: Promise<RunResult>) {
    this.runId = run.runId;
    this.execId = ExecId(run.runId);
    this.run = run;
    this.result = result;
    // Constants first: see docs/decisions/0012.
    const cancel = (reason: string): void => run.token.cancel(reason);
    const events = (): AsyncIterable<RunEvent> => run.events.subscribe();
    this.cancel = cancel;
    this.events = events;
  }

  get agentId(): AgentId {
    return this.run.agentId;
  }

  get status(): RunStatus {
    return this.run.seenStatus;
  }
}
