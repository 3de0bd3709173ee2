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
import { Drain } from "../engine/drain.ts";
import { whoseOf } from "../journal/facts/run-facts.ts";
import type { EventHub } from "./event-hub.ts";
import type { Tree } from "../tree/tree.ts";

/** A run in this process, from before its tree exists until its result does. */
export class LiveRun implements Linked<LiveRun> {
  before: LiveRun | undefined;
  after: LiveRun | undefined;
  readonly runId: RunId;
  readonly token: CancellationToken;
  readonly events: EventHub;
  tree: Tree | undefined;
  /** Why the run is to be suspended as soon as it begins: the runtime was closed before that. */
  suspended: string | undefined;
  /** The same, but the attempt under way has some time to end its calls. */
  draining: string | undefined;
  /** Ends the wait for the next attempt or for the journal. */
  wake: (() => void) | undefined;
  /** The result of the whole run. */
  result: Promise<RunResult> | undefined;
  agentId: AgentId;
  status: RunStatus = "pending";
  readonly startedAt: number;
  /** Undefined for a resumed run, whose record names the agent. */
  private readonly agent: Agent | undefined;
  /** Something was posted to its journal before it began. */
  hasPosts = false;
  /** Items that came before there was a tree, if there is no journal. */
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

  /** The status for callers: a run that waits for something from outside is `suspended`. */
  get publicStatus(): RunStatus {
    const { status, tree } = this;
    return status === "running" && tree?.isWaiting === true ? "suspended" : status;
  }

  /** The run is not to continue here: it was cancelled or suspended, or its deadline has passed. */
  get isStopped(): boolean {
    return this.suspended !== undefined || this.token.isCancelled || this.tree?.token.isCancelled === true;
  }

  /** The run ends as suspended, whatever comes now. */
  get isSuspended(): boolean {
    return (this.tree === undefined ? this.suspended : this.tree.suspension) !== undefined;
  }

  /** For a list of runs without a journal. */
  summary(): RunSummary {
    const { runId, agent, startedAt } = this;
    const name = agent === undefined ? this.agentId : versionName(agent);
    const waits = this.tree?.waits.list ?? [];
    const scope = this.tree?.scope;
    const listed = {
      runId,
      agent: name,
      status: this.publicStatus,
      startedAt,
      updatedAt: startedAt,
      entries: 0,
      ...(scope !== undefined && whoseOf(scope.sessionId, scope.tenantId, scope.userId)),
    };
    return waits.length === 0 ? listed : { ...listed, waitingFor: waits };
  }

  /** Something was posted to its journal. If the run has no tree yet, it looks when it begins. */
  readPosts(): Promise<void> | undefined {
    if (this.tree === undefined) this.hasPosts = true;
    return this.tree?.signals.readPosts();
  }

  /** Takes an item from outside, if there is no journal. */
  accept(item: PostedItem): void {
    if (this.tree === undefined) (this.early ??= []).push(item);
    else this.tree.signals.accept(item);
  }

  /** Whether the recipient has ended without that message having been read. Nobody will read it. */
  hasMissed(to: string, id: string): boolean {
    const { tree } = this;
    if (tree?.hasEnded(to) !== true || tree.hasRead(to, id)) return false;
    return !tree.signals.hasSeen(id) || tree.holdsMail(to, id);
  }

  /** Suspends the run. If it is ending or was cancelled, it ends on its own. */
  suspend(message: string): void {
    const { tree, token } = this;
    const isOver = tree?.isEnding === true || token.isCancelled || tree?.token.isCancelled === true;
    // A restart after a crash is suspended as soon as it begins, and the wait for it ends now.
    this.suspended = message;
    if (!isOver) tree?.suspend(message);
    // The outcome is known. Only the agents that still work beside it are cancelled, and nobody waits for them.
    else if (tree?.isEnding === true) token.cancel(message);
    this.wake?.();
  }

  /** Suspends the run when the calls that are under way have ended, but after so many milliseconds at most. No other call begins. */
  drain(message: string, graceMs: number): void {
    const { tree } = this;
    if (tree === undefined || tree.isClosed || tree.token.isCancelled) return this.suspend(message);
    this.draining = message;
    tree.drain?.close();
    tree.drain = new Drain(tree, graceMs, () => this.suspend(message));
  }

  /** The next attempt has begun. */
  attach(tree: Tree): void {
    this.tree = tree;
    for (const item of this.early ?? []) tree.signals.accept(item);
    this.early = undefined;
    const why = this.suspended ?? this.draining;
    if (why !== undefined) tree.suspend(why);
  }

  close(): void {
    this.events.close();
    this.token.dispose();
  }
}

/**
 * The handle that `run` returns. A class, because the getters of an object literal are defined anew for each object, which took a
 * tenth of the time of a run that makes one model call.
 */
export class LiveHandle implements RootHandle {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly result: Promise<RunResult>;
  /** Own functions, so that they can be detached from the handle. */
  readonly cancel: (reason: string) => void;
  readonly events: () => AsyncIterable<RunEvent>;
  private readonly run: LiveRun;

  constructor(run: LiveRun, result: Promise<RunResult>) {
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
    return this.run.publicStatus;
  }
}
