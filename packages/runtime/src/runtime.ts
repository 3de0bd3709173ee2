import {
  type Agent,
  AgentId,
  agentName,
  CancellationToken,
  checkFields,
  type Clock,
  errorToJSON,
  ExecId,
  HookEvent,
  type HookPayloads,
  InvalidValueError,
  type Journal,
  type JournalEntry,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  type PostedItem,
  type RootHandle,
  RunId,
  RunMeta,
  type RunResult,
  type RunStatus,
  type RunSummary,
  Supervision,
  type AbortSignalLike,
} from "@ravi/kernel";
import { admitRun } from "./context/admit-run.ts";
import { nameOf } from "./context/hire.ts";
import { planFor } from "./context/plan.ts";
import type { Decisions } from "./engine/effect.ts";
import { Recording } from "./engine/recording.ts";
import { RunJournal } from "./engine/run-journal.ts";
import { processOwner } from "./journal/owner.ts";
import { RUN_START, RUN_STATUS } from "./journal/run-facts.ts";
import { LiveRun, recordedResult, statusRecord } from "./live-run.ts";
import { type Ports, type RuntimePorts, settlePorts } from "./ports.ts";
import { newStart, readStart, type RunOptions, type Start, startRecord } from "./run-start.ts";
import { EventHub } from "./tree/event-hub.ts";
import { restoreTree } from "./tree/restore.ts";
import { Tree } from "./tree/tree.ts";

export interface RuntimeOptions extends RuntimePorts {
  /** Those that a resume may look up. `run` adds the agent that it is given. */
  readonly agents?: readonly Agent[] | undefined;
  /** Whether `getRunScope()` knows the run in tools and hooks. Off by default: it costs something on every step. */
  readonly ambientScope?: boolean | undefined;
}

export interface ResumeOptions {
  /** What becomes of tools that were in flight at the crash, by the key that the suspension names. */
  readonly decisions?: Decisions | undefined;
  readonly signal?: AbortSignalLike | undefined;
}

interface Live {
  readonly handle: RootHandle;
  readonly tree: () => Tree | undefined;
}

/** Hosts agents in one process. With nothing given it runs bare and fast; what it is given, it enforces. */
export class Runtime {
  private readonly ports: Ports;
  private readonly ambientScope: boolean;
  private readonly agents = new Map<string, Agent>();
  private readonly live = new Map<RunId, Live>();
  private readonly owner: string;
  private closed = false;

  constructor(options: RuntimeOptions = {}) {
    checkFields("runtime options", options, OPTIONS);
    const { agents = [], ambientScope = false, ...ports } = options;
    this.ports = settlePorts(ports);
    this.ambientScope = ambientScope;
    this.owner = processOwner(this.ports.ids.uuid());
    for (const agent of agents) this.register(agent);
  }

  /** Makes an agent known to `resume`, by its name and version. */
  register(agent: Agent): this {
    this.agents.set(nameOf(agent), agent);
    return this;
  }

  /** Starts a run. Errors of the run are in its result's status; the promise rejects only where it could not be started. */
  run<T>(agent: Agent<T>, input: string, options: RunOptions = {}): RootHandle<T> {
    const start = newStart(this.ports, agent, input, options);
    this.register(agent);
    return this.launch(start.root, options.signal, (live) => this.begin(start, live)) as RootHandle<T>;
  }

  /** Goes on with a run that is on record, from where it stood. One that is over gives its result again. */
  resume(runId: string, options: ResumeOptions = {}): RootHandle {
    const root = Supervision.root(ROOT_UNKNOWN, { runId });
    return this.launch(root, options.signal, (live) => this.goOn(root.runId, options.decisions ?? {}, live));
  }

  /** Gives a run what it waits for, or will. It may run in another process. */
  async deliver(runId: string, name: string, value: JsonValue): Promise<void> {
    await this.post(RunId(runId), { kind: "signal", name, value });
  }

  /** Ends a run for good, wherever it runs. */
  async cancel(runId: string, reason: string): Promise<void> {
    await this.post(RunId(runId), { kind: "cancel", name: "cancel", value: reason });
  }

  /** The runs on record; without a journal, those that live here. */
  async list(): Promise<readonly RunSummary[]> {
    if (this.ports.journal !== undefined) return this.ports.journal.list();
    return [...this.live.values()].map(({ handle }) => ({
      runId: handle.runId,
      agent: handle.agentId,
      status: handle.status,
      startedAt: 0,
      updatedAt: 0,
      entries: 0,
    }));
  }

  /** Forgets a run. One that is under way is refused. */
  async delete(runId: string): Promise<void> {
    if (this.live.has(RunId(runId))) {
      throw new InvalidValueError({
        field: "runId",
        value: runId,
        expected: "a run that is not under way; cancel it first",
      });
    }
    await this.journal().delete(RunId(runId));
  }

  /** Forgets runs that ended longer ago than that; gives their ids. */
  async prune(options: { readonly olderThanMs: number }): Promise<RunId[]> {
    const before = this.ports.clock.now() - options.olderThanMs;
    const over = (await this.journal().list()).filter(
      ({ status, updatedAt }) => OVER.has(status) && updatedAt < before,
    );
    for (const { runId } of over) await this.journal().delete(runId);
    return over.map(({ runId }) => runId);
  }

  /**
   * Ends what runs here and leaves nothing behind. `drain` waits for it; otherwise a run with a journal is suspended, to be
   * resumed later, and one without is cancelled. The journal stays open: it belongs to whoever opened it.
   */
  async close(options: { readonly drain?: boolean | undefined } = {}): Promise<void> {
    this.closed = true;
    const running = [...this.live.values()];
    if (options.drain !== true) {
      for (const { handle, tree } of running) {
        if (this.ports.journal === undefined) handle.cancel("the runtime was closed");
        else tree()?.suspend("the runtime was closed");
      }
    }
    await Promise.allSettled(running.map(({ handle }) => handle.result));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private launch(
    root: Supervision,
    signal: AbortSignalLike | undefined,
    start: (live: Starting) => Promise<RunResult>,
  ): RootHandle {
    if (this.closed)
      throw new InvalidValueError({ field: "runtime", value: "closed", expected: "one that is open" });
    const { runId } = root;
    if (this.live.has(runId)) {
      throw new InvalidValueError({
        field: "runId",
        value: runId,
        expected: "a run that is not under way here already",
      });
    }
    const token = new CancellationToken(signal);
    const events = new EventHub();
    const starting: Starting = { token, events, tree: undefined, agentId: root.agentId };
    let status: RunStatus = "pending";
    const result = this.supervise(starting, start, (next) => (status = next)).finally(() => {
      this.live.delete(runId);
      events.close();
      token.dispose();
    });
    const handle: RootHandle = {
      runId,
      execId: ExecId(runId),
      get agentId() {
        return starting.agentId;
      },
      get status() {
        return status === "running" && starting.tree?.signals.isWaiting === true ? "suspended" : status;
      },
      cancel: (reason) => token.cancel(reason),
      result,
      events: () => events.subscribe(),
    };
    this.live.set(runId, { handle, tree: () => starting.tree });
    return handle;
  }

  private async supervise(
    starting: Starting,
    start: (live: Starting) => Promise<RunResult>,
    tell: (status: RunStatus) => void,
  ): Promise<RunResult> {
    // Whoever calls `events()` right after `run()` sees the first of them.
    await Promise.resolve();
    tell("running");
    try {
      const result = await start(starting);
      tell(result.status);
      return result;
    } catch (error) {
      tell("failed");
      throw error;
    }
  }

  private async begin(asked: Start, starting: Starting): Promise<RunResult> {
    const { journal: store, clock } = this.ports;
    const start = await this.admit(asked, starting);
    if (store === undefined) return this.go(start, starting, {}).toEnd();
    const { runId } = start.root;
    return this.claimed(store, runId, async (journal) => {
      if ((await store.load(runId)).length > 0) {
        const expected = "a run that is not on record yet; resume it instead";
        throw new InvalidValueError({ field: "runId", value: runId, expected });
      }
      await journal.append([noteOf(runId, RUN_START, 1, clock.now(), startRecord(start))]);
      return this.goUntilOver(start, starting, { journal });
    });
  }

  private async goOn(runId: RunId, decisions: Decisions, starting: Starting): Promise<RunResult> {
    const store = this.journal();
    return this.claimed(store, runId, async (journal) => {
      const recording = new Recording(await store.load(runId));
      const start = recording.aboutRun(RUN_START);
      if (start === undefined) {
        throw new InvalidValueError({ field: "runId", value: runId, expected: "a run that is on record" });
      }
      const status = recording.aboutRun(RUN_STATUS);
      const result = status === undefined ? undefined : recordedResult(runId, status.body);
      if (result !== undefined) return result;
      const read = await this.admit(readStart(this.agents, start.body), starting);
      starting.agentId = read.root.agentId;
      return this.goUntilOver(read, starting, { journal, recording, decisions });
    });
  }

  /** The layers around the agent see its input before anything is written down, so that what they remove never is. */
  private async admit(start: Start, { token }: Starting): Promise<Start> {
    const { ports } = this;
    const plan = planFor(start.agent, ports);
    if (plan.agent === undefined) return start;
    const { root, deadline, tenantId } = start;
    const meta = RunMeta.of({ supervision: root, cancellation: token, deadline, tenantId, ...ports });
    const { input, refused } = await admitRun(plan, ports, meta, root, start.input);
    return { ...start, input, refused };
  }

  private async claimed(
    store: Journal,
    runId: RunId,
    run: (journal: RunJournal) => Promise<RunResult>,
  ): Promise<RunResult> {
    const journal = await RunJournal.claim(store, runId, this.owner, this.ports.clock);
    try {
      return await run(journal);
    } finally {
      await journal.release();
    }
  }

  /** With a journal a crash of the agent's own code costs nothing: it is started again, as far as the policy allows. */
  private async goUntilOver(
    start: Start,
    starting: Starting,
    first: Going & { journal: RunJournal },
  ): Promise<RunResult> {
    const { clock, restart, hooks } = this.ports;
    const { journal } = first;
    const { runId } = start.root;
    const execId = ExecId(runId);
    let going = first;
    let statuses = going.recording?.aboutRun(RUN_STATUS)?.attempt ?? 0;
    const note = (body: JsonObject): MaybePromise<void> =>
      journal.append([noteOf(runId, RUN_STATUS, ++statuses, clock.now(), body)]);
    await note({ status: "running" });
    for (let attempt = 1; ; attempt++) {
      const run = this.go(start, starting, going);
      if (going.recording !== undefined) await this.restore(starting, going.recording);
      const result = await run.toEnd();
      if (run.crash === undefined || restart?.shouldRetry(execId, run.crash) !== true) {
        restart?.reset(execId);
        await note(statusRecord(result));
        return result;
      }
      const delayMs = restart.delayMs(attempt);
      if (hooks.has(HookEvent.RETRY))
        void hooks.dispatch(
          HookEvent.RETRY,
          retryPayload(start.root, clock.now(), attempt, delayMs, run.crash),
        );
      await sleep(clock, delayMs, starting.token);
      going = { ...going, recording: new Recording(await this.journal().load(runId)) };
    }
  }

  private go(start: Start, starting: Starting, { journal, recording, decisions = {} }: Going): LiveRun {
    const { root, tenantId, scope, deadline, agent, input, refused } = start;
    const { token, events } = starting;
    const { ports, ambientScope } = this;
    const tree = new Tree({
      ports,
      root,
      tenantId,
      scope,
      journal,
      recording,
      decisions,
      token,
      events,
      ambientScope,
    });
    starting.tree = tree;
    if (journal !== undefined) journal.onBeat = () => void tree.signals.look();
    return new LiveRun({ agent, input, tree, deadline, refused });
  }

  private async restore({ tree }: Starting, recording: Recording): Promise<void> {
    if (tree === undefined) return;
    await tree.signals.look();
    await restoreTree(tree, recording);
  }

  private async post(runId: RunId, what: Pick<PostedItem, "kind" | "name" | "value">): Promise<void> {
    const { journal, ids, clock } = this.ports;
    const item: PostedItem = { id: ids.uuid(), at: clock.now(), ...what };
    const live = this.live.get(runId);
    if (journal === undefined && live === undefined) {
      throw new InvalidValueError({
        field: "runId",
        value: runId,
        expected: "a run that lives here, as there is no journal",
      });
    }
    await journal?.post(runId, item);
    live?.tree()?.signals.accept(item);
  }

  private journal(): Journal {
    const { journal } = this.ports;
    if (journal !== undefined) return journal;
    throw new InvalidValueError({
      field: "journal",
      value: undefined,
      expected: "a runtime that was given a journal",
    });
  }
}

/** What a go at a run works with, where there is a journal. */
interface Going {
  readonly journal?: RunJournal | undefined;
  readonly recording?: Recording | undefined;
  readonly decisions?: Decisions | undefined;
}

/** What exists of a run before its tree does. */
interface Starting {
  readonly token: CancellationToken;
  readonly events: EventHub;
  tree: Tree | undefined;
  agentId: AgentId;
}

const OPTIONS: readonly (keyof RuntimeOptions)[] = [
  "agents",
  "ambientScope",
  "journal",
  "headcount",
  "ledger",
  "meter",
  "limiter",
  "hooks",
  "pipelines",
  "history",
  "compaction",
  "permissions",
  "restart",
  "validator",
  "clock",
  "ids",
  "logger",
];
const ROOT_UNKNOWN = AgentId("unknown");
const OVER: ReadonlySet<RunStatus> = new Set<RunStatus>(["completed", "partial", "failed", "cancelled"]);

function noteOf(runId: RunId, key: string, attempt: number, at: number, body: JsonObject): JournalEntry {
  return { exec: ExecId(runId), key, attempt, phase: "note", at, body };
}

function retryPayload(
  root: Supervision,
  at: number,
  attempt: number,
  delayMs: number,
  error: unknown,
): HookPayloads["retry"] {
  const { agentId, runId, sessionId } = root;
  return {
    agentName: agentName(agentId),
    agentId,
    runId,
    execId: ExecId(runId),
    sessionId,
    at,
    attempt,
    delayMs,
    error: errorToJSON(error),
  };
}

async function sleep(clock: Clock, delayMs: number, token: CancellationToken): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.setTimer?.(resolve, delayMs);
  if (timer === undefined) resolve();
  const unlisten = token.onCancel(() => resolve());
  await promise.finally(() => {
    timer?.cancel();
    unlisten();
  });
}
