import {
  type AbortSignalLike,
  type Agent,
  type AnswerOf,
  AgentId,
  type Attachment,
  checkBoolean,
  checkFields,
  checkInteger,
  ExecId,
  InvalidValueError,
  isRaviError,
  type Journal,
  type JsonValue,
  type PostedItem,
  type RootHandle,
  RunId,
  type RunEvent,
  type RunResult,
  type RunStatus,
  type RunSummary,
  Supervision,
  systemIds,
  type RunHolder,
  type RunReport,
} from "@ravi/kernel";
import {
  answerable,
  checkAgents,
  checkFunction,
  checkMessage,
  checkSendText,
  checkText,
  type Decisions,
  deliveryId,
  type EventListener,
  missed,
  notAwaited,
  ownAttachments,
  refuseStranger,
  versionName,
  versionOf,
} from "@ravi/kernel/loop";
import { type Ports, type RuntimePorts, resolvePorts } from "./ports.ts";
import { noJournal, RunDriver, wrongRun } from "./run/run-driver.ts";
import { newStart, type RunOptions } from "./run-start.ts";
import { holderOf, inspectRun } from "./run/inspect.ts";
import { pruneRuns } from "./run/prune-runs.ts";
import { recordedEvents } from "./run/recorded-events.ts";
import { isWithoutBlobs } from "./journal/entries/with-blobs.ts";
import { checkItem } from "./journal/parts/posted.ts";
import { isEnded } from "./journal/retention.ts";
import { recordedStatus } from "./journal/facts/recorded-status.ts";
import { waitsIn } from "./journal/facts/waits-on-record.ts";
import { LiveHandle, LiveRun } from "./run/live-run.ts";
import { noTimers } from "./engine/waiting.ts";
import { EventHub } from "./run/event-hub.ts";
import { LiveRuns } from "./run/live-runs.ts";
import type { End } from "./promises/end.ts";
import { checkAmbientScope } from "./scope.ts";
import { EndedRuns, keepWaitingRun, waitingAgent } from "./run/waiting-run.ts";

/** Options of `Runtime`. All are optional. */
export interface RuntimeOptions extends RuntimePorts {
  /** The agents that `resume` can look up. With a journal, `run` adds the agent that it is given. Default: none. */
  readonly agents?: readonly Agent[] | undefined;
  /**
   * Whether `getRunScope()` works in tools and hooks. Default: false, because it costs time at every step. It needs `node:async_hooks`, which
   * browsers do not have.
   */
  readonly ambientScope?: boolean | undefined;
}

/** Options of `deliver`. All are optional. */
export interface DeliverOptions {
  /** The same id under one name counts once. Default: a new one. */
  readonly id?: string | undefined;
  /** Throws an `InvalidValueError` if there is no such run, or if it has ended. Default: false, since a value may come early. */
  readonly mustExist?: boolean | undefined;
  /**
   * Like `mustExist`, and throws an `InvalidValueError` that names what the run waits for, if it does not wait for that name now. Default:
   * false, since an approval may come early.
   */
  readonly mustWait?: boolean | undefined;
}

/** Options of `send`. All are optional. */
export interface SendOptions {
  /** The id of the execution that gets the message. Default: the root's. */
  readonly to?: string | undefined;
  /** The sender's name. Default: `"user"`. */
  readonly from?: string | undefined;
  /** The same id counts once. Default: a new one. */
  readonly id?: string | undefined;
  /** Pictures and files that come with the message. Default: none. */
  readonly attachments?: readonly Attachment[] | undefined;
}

/** Options of `resume`. All are optional. */
export interface ResumeOptions {
  /** What to do with tool calls that were in flight at a crash, by the key in the suspension's error. */
  readonly decisions?: Decisions | undefined;
  /**
   * Whether a run that has failed is continued too, for instance after an outage or with another key. The model calls and hires that it
   * failed with are made again; everything else comes from the record. So is one that is `partial` because a part of it failed (its
   * `stopReason` is `failed`), unless that part of an answer is in a conversation by now. Default: false.
   */
  readonly retryFailed?: boolean | undefined;
  /** Cancels the run for good when it aborts. */
  readonly signal?: AbortSignalLike | undefined;
  /** Called synchronously with each event from now on. */
  readonly onEvent?: EventListener | undefined;
}

/** Options of `close`. All are optional. */
export interface CloseOptions {
  /** Whether to wait until all runs have ended by themselves. Default: false. */
  readonly drain?: boolean | undefined;
  /**
   * How many milliseconds the model and tool calls under way get to end, before the runs are suspended. Meanwhile no other call begins,
   * but one that waits for a permit of the limiter, or before a retry, counts as under way. A call that is cut off is made again when
   * its run is resumed, or has to be decided on. A run that has come to its end may keep its history in that time. Default: 0. Without a
   * journal it has no effect.
   */
  readonly graceMs?: number | undefined;
  /** What the errors of the runs say. */
  readonly reason?: string | undefined;
}

/** Runs agents in one process. Without options it adds nothing in between; each option is enforced for every run. */
export class Runtime {
  private readonly ports: Ports;
  private readonly agents = new Map<string, Agent>();
  private readonly live = new LiveRuns();
  private readonly driver: RunDriver;
  private newest: Agent | undefined;
  private closed = false;
  private readonly ended: EndedRuns;

  constructor(options: RuntimeOptions = {}) {
    checkFields("runtime options", options, OPTIONS);
    const { agents = [], ambientScope = false } = options;
    checkAgents("runtime options.agents", agents);
    checkAmbientScope(checkBoolean("runtime options.ambientScope", ambientScope));
    this.ports = resolvePorts(options);
    this.ended = EndedRuns.of(this.ports);
    this.driver = new RunDriver({ ports: this.ports, ambientScope, agents: this.agents });
    for (const agent of agents) this.register(agent);
  }

  /** Makes an agent known to `resume`, by its name and version. Returns the runtime. */
  register(agent: Agent): this {
    // It is usually the agent that ran last.
    if (agent !== this.newest || agent === undefined) this.agents.set(versionName(agent), agent);
    this.newest = agent;
    return this;
  }

  /**
   * Starts a run. If the run fails, its result says so. `result` rejects only if the run could not be started, if its journal
   * fails, if it has a journal and its history cannot be saved, or its session cannot be read or written (then resume it), or if another
   * process has taken it over: then its outcome is not known here.
   */
  run<T = unknown, A extends Agent<T> = Agent<T>>(
    agent: A,
    input: string,
    options: RunOptions = {},
  ): RootHandle<AnswerOf<A>> {
    const chosen = versionOf(this.agents, agent, options?.version);
    const start = newStart(this.ports, chosen, input, options);
    // Without a journal nothing is ever resumed, and a service that creates an agent for each user must not keep them all.
    if (this.ports.journal !== undefined) this.register(chosen);
    const handle = this.launch(start.root, options, (run, end) => this.driver.begin(start, run, end), chosen);
    return handle as RootHandle<AnswerOf<A>>;
  }

  /**
   * Continues a recorded run from where it stopped. If the run is over, it returns the recorded result; a failed one is continued with
   * `retryFailed`.
   */
  resume(runId: string, options: ResumeOptions = {}): RootHandle {
    checkFields("resume options", options, RESUME_OPTIONS);
    const { signal, onEvent } = options;
    checkFunction("resume options.onEvent", onEvent);
    const root = Supervision.root(ROOT_UNKNOWN, { runId });
    return this.launch(root, { signal, onEvent, runId }, (run, end) =>
      this.driver.resume(root.runId, options, run, end),
    );
  }

  /**
   * Gives a run a value that it waits for, or will wait for. The run may be in another process. A value that nobody waits for is
   * kept for the next wait of that name. With a journal this is so even if the run has not begun, so a misspelt run id is not
   * noticed, nor is a misspelt name: `mustExist` and `mustWait` do. If you may send it twice, give an `id`: the same id under one name counts once.
   */
  async deliver(runId: string, name: string, value: JsonValue, options: DeliverOptions = {}): Promise<void> {
    checkFields("deliver options", options, DELIVER_OPTIONS);
    const { id, mustExist = false, mustWait = false } = options;
    checkBoolean("deliver options.mustExist", mustExist);
    checkBoolean("deliver options.mustWait", mustWait);
    const known = id === undefined ? undefined : deliveryId(name, id);
    // Checked in the same way without a journal. A journal would turn NaN and dates into something else.
    if (value !== undefined) checkMessage("deliver.value", value);
    if (mustExist || mustWait) await this.refuseOver(RunId(runId), known, true);
    if (mustWait) await this.refuseUnawaited(RunId(runId), name, known);
    await this.post(RunId(runId), { kind: "signal", name, value }, known);
  }

  /**
   * Sends a message to a running agent, which reads it between two steps, or when it waits for a message. Default recipient: the
   * root. The same `id` counts once. Rejects if the run has ended, or, if it is in this process, the recipient.
   */
  async send(runId: string, message: JsonValue, options: SendOptions = {}): Promise<void> {
    checkFields("send options", options, ["to", "from", "id", "attachments"]);
    const { to = ExecId(RunId(runId)), from = "user", id = this.ports.ids.uuid() } = options;
    refuseStranger(RunId(runId), to);
    checkSendText("from", from);
    checkSendText("id", id);
    checkMessage("send.message", message);
    const attachments = ownAttachments("send options.attachments", options.attachments);
    const value = { from, content: message, ...(attachments !== undefined && { attachments }) };
    const live = this.live.find(RunId(runId));
    const refuseMissed = (): void => {
      if (live?.hasMissed(to, id) === true) throw missed(runId, to);
    };
    refuseMissed();
    // A journal without summaries would have to read the whole run for each message.
    if (live === undefined && this.ports.journal?.summary !== undefined)
      await this.refuseOver(RunId(runId), id, false);
    await this.post(RunId(runId), { kind: "message", name: to, value }, id);
    refuseMissed();
  }

  /**
   * Cancels a run for good, wherever it runs. A run that is not running ends now if agents are registered here, and the store of its bodies
   * is here too if it has one, else when it is resumed. Its own agent is not needed for that. Throws an `InvalidValueError` if there is no
   * such run: otherwise a misspelt id would look like a stopped run.
   */
  async cancel(runId: string, reason: string): Promise<void> {
    const id = RunId(runId);
    checkText("cancel reason", reason);
    const { journal } = this.ports;
    if (
      journal !== undefined &&
      this.live.find(id) === undefined &&
      (await recordedStatus(journal, id)) === undefined
    )
      throw wrongRun(runId, IN_THE_JOURNAL);
    const posted = this.post(id, { kind: "cancel", name: "cancel", value: reason });
    const running = this.live.find(id);
    // At once: the journal may never confirm the post, and need not if the run is over.
    running?.token.cancel(reason);
    const over = running?.result?.then(isOver, isOver);
    // A run that is being suspended does not heed it any more, and is not over then.
    if (running?.isSuspended === true) await Promise.all([posted, over]);
    else if ((await (over === undefined ? posted : Promise.race([posted, over]))) === true) return;
    const live = this.live.find(id);
    // The run may have no agent at the moment, because it crashed and waits for its restart.
    if (live !== undefined) live.token.cancel(reason);
    // A runtime without agents does not claim the run: another process may be about to resume it.
    else if (journal !== undefined && !this.closed && this.agents.size > 0) await this.endAtRest(id);
  }

  /**
   * Throws if the run is over and was not given that item before, or, if it must exist, is not known. Without a journal, `post` knows
   * those that run here.
   */
  private async refuseOver(runId: RunId, item: string | undefined, mustExist: boolean): Promise<void> {
    const { journal } = this.ports;
    if (journal === undefined || this.live.find(runId) !== undefined) return;
    const status = await recordedStatus(journal, runId);
    if (status === undefined && mustExist) throw wrongRun(runId, IN_THE_JOURNAL);
    if (status === undefined || !isEnded(status)) return;
    if (item !== undefined && (await journal.items(runId, 0)).some(({ id }) => id === item)) return;
    throw wrongRun(runId, `the id of a run that has not ended; this one is ${status}`);
  }

  /** Throws if the run does not wait for an answer of that name, unless it was given that item before. */
  private async refuseUnawaited(runId: RunId, name: string, item: string | undefined): Promise<void> {
    const { journal } = this.ports;
    const live = this.live.find(runId);
    // What another process has answered is not waited for, even if the run has not read it yet.
    await live?.readPosts();
    // A run that has just begun to wait may not have noted it, and one that was resumed just now may not have got there again.
    const names = [
      ...answerable(live?.summary().waitingFor),
      ...answerable(journal && (await waitsIn(journal, runId))),
    ];
    // Without a journal, `post` refuses a run that is not here.
    if (names.includes(name) || (journal === undefined && live === undefined)) return;
    const isKnown =
      item !== undefined &&
      (live?.tree?.signals.hasSeen(item) === true ||
        (await journal?.items(runId, 0))?.some(({ id }) => id === item) === true);
    if (!isKnown) throw notAwaited(runId, name, names);
  }

  private async endAtRest(id: RunId): Promise<void> {
    try {
      await this.resume(id).result;
    } catch (error) {
      // Another process has the run and reads the post, or has the store of its bodies and will read it.
      if (!isRaviError(error, "JOURNAL_LOCKED") && !isWithoutBlobs(error)) throw error;
    }
  }

  /** The runs on record; without a journal, those in this process. */
  async list(): Promise<readonly RunSummary[]> {
    if (this.ports.journal !== undefined) return this.ports.journal.list();
    return this.live.list().map((run) => run.summary());
  }

  /**
   * Reads what is on record of a run, wherever it runs: who has worked and for how much, what it waits for, and which process has it. It
   * needs no agents. Throws an `InvalidValueError` if there is no such run.
   */
  async inspect(runId: string): Promise<RunReport> {
    return inspectRun(this.journal(), RunId(runId));
  }

  /**
   * What a run has done so far, wherever it runs, as the events that observers get: each answer as one text, and without what is not on
   * record (steps, progress, deltas). An event has the time of its entry; later calls return the same events, and what is new after them.
   * Throws an `InvalidValueError` if there is no such run, or if it has not begun.
   */
  async recordedEvents(runId: string): Promise<readonly RunEvent[]> {
    return recordedEvents(this.journal(), RunId(runId));
  }

  /** The process that has a run, without reading its record; undefined if none has it, or one that is certainly dead. */
  async holder(runId: string): Promise<RunHolder | undefined> {
    return holderOf(this.journal(), RunId(runId));
  }

  /** Deletes a run from the journal. Throws an `InvalidValueError` if it runs here. */
  async delete(runId: string): Promise<void> {
    if (this.live.find(RunId(runId)) !== undefined) {
      throw wrongRun(runId, "a run that is not running here; cancel it first");
    }
    await this.journal().delete(RunId(runId));
  }

  /**
   * Deletes runs that ended more than `olderThanMs` milliseconds ago, and are not continued here. Returns their ids. Throws a
   * `JournalFailedError`, after the others were deleted, if one cannot be.
   */
  async prune(options: { readonly olderThanMs: number }): Promise<RunId[]> {
    const { olderThanMs } = checkFields("prune options", options, ["olderThanMs"]);
    const endedBefore = this.ports.clock.now() - checkInteger("prune options.olderThanMs", olderThanMs, 0);
    const isLive = (runId: RunId): boolean => this.live.find(runId) !== undefined;
    return pruneRuns(this.journal(), { endedBefore, isLive });
  }

  /**
   * Ends all runs here. With `drain` it waits for them. Otherwise a run with a journal is suspended, to be resumed later, and one
   * without is cancelled; `reason` is what their errors say. The journal stays open: its owner closes it.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkFields("close options", options, ["drain", "graceMs", "reason"]);
    const { drain = false, graceMs = 0, reason = "the runtime was closed" } = options;
    checkBoolean("close options.drain", drain);
    checkInteger("close options.graceMs", graceMs, 0);
    if (drain && graceMs > 0) {
      const expected = "0 with drain: true, which waits for the runs themselves, however long they take";
      throw new InvalidValueError({ field: "close options.graceMs", value: graceMs, expected });
    }
    if (graceMs > 0 && this.ports.clock.setTimer === undefined) throw noTimers();
    this.closed = true;
    const running = this.live.list();
    if (!drain) {
      for (const run of running) {
        if (this.ports.journal === undefined) run.token.cancel(reason);
        else if (graceMs > 0) run.drain(reason, graceMs);
        else run.suspend(reason);
      }
    }
    await Promise.allSettled(running.map(async ({ result }) => result));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private launch(
    root: Supervision,
    { runId: given, signal, onEvent }: Pick<RunOptions, "runId" | "signal" | "onEvent">,
    start: StartRun,
    agent?: Agent,
  ): RootHandle {
    if (this.closed)
      throw new InvalidValueError({
        field: "runtime",
        value: "closed",
        expected: "an open runtime; create a new one",
      });
    const { runId } = root;
    // A random id that was made just now cannot be in use.
    const mayBeKnown = given !== undefined || this.ports.ids !== systemIds;
    if (mayBeKnown && this.live.find(runId) !== undefined) {
      throw wrongRun(runId, "an id that no running run here has; use the handle of that run, or another id");
    }
    const events = new EventHub(onEvent, this.ports.logger);
    const run = new LiveRun(root, signal, events, this.ports.clock.now(), agent);
    const result = this.supervise(run, start);
    run.result = result;
    this.live.add(run);
    return new LiveHandle(run, result);
  }

  private supervise(run: LiveRun, start: StartRun): Promise<RunResult> {
    return new Promise((resolve, reject) => {
      const end = this.endOf(run, resolve, reject);
      const begin = (): void => {
        run.status = "running";
        try {
          start(run, end);
        } catch (error) {
          end.failed(error);
        }
      };
      // So that a caller of `events()` right after `run()` gets the first event.
      void TICK.then(begin);
    });
  }

  private endOf(
    run: LiveRun,
    resolve: (result: RunResult) => void,
    reject: (error: unknown) => void,
  ): End<RunResult> {
    return {
      ended: (result) => {
        this.over(run, result.status);
        resolve(result);
      },
      failed: (error) => {
        this.over(run, "failed");
        reject(error);
      },
    };
  }

  private over(run: LiveRun, status: RunStatus): void {
    run.status = status;
    this.live.delete(run);
    run.close();
    if (this.ended.count()) keepWaitingRun(this.ports, startWaiting);
  }

  private async post(
    runId: RunId,
    what: Pick<PostedItem, "kind" | "name" | "value">,
    id?: string,
  ): Promise<void> {
    const { journal, ids, clock } = this.ports;
    const item: PostedItem = { id: id ?? ids.uuid(), at: clock.now(), ...what };
    const live = this.live.find(runId);
    if (journal === undefined && live === undefined) {
      throw wrongRun(
        runId,
        "the id of a run that is running here; a runtime without a journal reaches no other",
      );
    }
    if (journal === undefined) {
      checkItem(item);
      return live?.accept(item);
    }
    await journal.post(runId, item);
    // In the order of the journal: an earlier post may not have been read yet.
    await live?.readPosts();
  }

  private journal(): Journal {
    const { journal } = this.ports;
    if (journal !== undefined) return journal;
    throw noJournal();
  }
}

/** Takes a run to its end. May throw before it has begun. */
type StartRun = (run: LiveRun, end: End<RunResult>) => void;

const IN_THE_JOURNAL = "the id of a run in the journal";
const DELIVER_OPTIONS = ["id", "mustExist", "mustWait"] as const satisfies readonly (keyof DeliverOptions)[];
const RESUME_OPTIONS = [
  "decisions",
  "retryFailed",
  "signal",
  "onEvent",
] as const satisfies readonly (keyof ResumeOptions)[];

/** The ports are those that `resolvePorts` reads by their names. */
const OPTIONS: readonly string[] = [
  ...(["agents", "ambientScope"] satisfies (keyof RuntimeOptions)[]),
  ...Object.keys(resolvePorts({})),
];
const isOver = (): true => true;
/** What is done after it is done in the next tick. */
const TICK = Promise.resolve();
const ROOT_UNKNOWN = AgentId("unknown");

function startWaiting(options: RuntimePorts): RootHandle {
  return new Runtime(options).run(waitingAgent, "wait");
}
