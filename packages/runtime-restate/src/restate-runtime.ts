import {
  type AbortSignalLike,
  type Agent,
  type AnswerOf,
  CancellationToken,
  checkBoolean,
  checkFields,
  type ContextPorts,
  type JsonValue,
  NO_HOOKS,
  type RootHandle,
  type RunEvent,
  RunId,
  type RunReport,
  type RunSummary,
  systemIds,
} from "@ravi/kernel";
import {
  asOwn,
  checkAgents,
  checkDecisions,
  checkFunction,
  checkText,
  type Decisions,
  deliveryId,
  type EventListener,
  guardedHooks,
  versionName,
  versionOf,
} from "@ravi/kernel/loop";
import { checkDelivered, checkOpen, checkOptions } from "./check.ts";
import { Admin } from "./client/admin.ts";
import { admitRoot } from "./client/admit.ts";
import { follow, type FollowOptions } from "./client/handle.ts";
import { inspectRun } from "./client/inspect.ts";
import { pruneBefore, pruneRuns } from "./client/prune.ts";
import { eventsIn, recordOf } from "./client/record.ts";
import { RootClient } from "./client/root-client.ts";
import { checkSent, type RestateSendOptions } from "./client/send.ts";
import { launchRun, type RestateRunOptions } from "./client/start.ts";
import { type Http2Handler, listenOn, type ListenOptions, type Listening } from "./endpoint.ts";
import { Ingress } from "./ingress.ts";
import { OPTIONS, type RestateRuntimeOptions } from "./options.ts";
import { unblockWhileWaiting } from "./unblock.ts";
import { wallClock } from "./wall-clock.ts";
import { workerHandler } from "./worker.ts";

/** Options of `resume`. All are optional. */
export interface RestateResumeOptions {
  /** What to do with tool calls that were in flight at a crash, by the key in the suspension's error. */
  readonly decisions?: Decisions | undefined;
  /**
   * Whether a run that has failed is continued too, for instance after an outage or with another key. The model calls and hires that it
   * failed with are made again; everything else comes from the record. One that is `partial` stays so. Default: false.
   */
  readonly retryFailed?: boolean | undefined;
  /** Cancels the run for good when it aborts. */
  readonly signal?: AbortSignalLike | undefined;
  /** Called with each event as it arrives, from the first event of the run on. The result comes after the last one. */
  readonly onEvent?: EventListener | undefined;
}

const RESUME_OPTIONS = [
  "decisions",
  "retryFailed",
  "signal",
  "onEvent",
] as const satisfies readonly (keyof RestateResumeOptions)[];

/** A worker of a Restate server, and a client of all runs on that server. */
export interface RestateRuntime {
  /** The handler for an HTTP/2 server of your own: `http2.createServer(runtime.handler)`. */
  readonly handler: Http2Handler;
  /** Makes an agent known to this worker, by its name and version. Returns the runtime. */
  register(agent: Agent): RestateRuntime;
  /** Starts serving this worker. Rejects if the port cannot be opened. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** Registers the address of the workers at the server. Many workers may stand behind one address. */
  deploy(uri: string): Promise<void>;
  /** Starts a run and follows it. Throws an `InvalidValueError` if an argument is wrong or the runtime is closed. */
  run<T = unknown, A extends Agent<T> = Agent<T>>(
    agent: A,
    input: string,
    options?: RestateRunOptions,
  ): RootHandle<AnswerOf<A>>;
  /** Attaches to a run. Hands out decisions, and offers what was parked to the newest deployment. */
  resume(runId: string, options?: RestateResumeOptions): RootHandle;
  /**
   * Gives a run a value that it waits for, or will wait for. The same `id` under one name counts once, among the newest 200
   * deliveries of the run. Default of `id`: a new one. Rejects with an `InvalidValueError` if the server does not know the run;
   * with `mustExist` also if the run has ended, and with `mustWait` also if it does not wait for that name now.
   */
  deliver(
    runId: string,
    name: string,
    value: JsonValue,
    options?: {
      readonly id?: string | undefined;
      readonly mustExist?: boolean | undefined;
      readonly mustWait?: boolean | undefined;
    },
  ): Promise<void>;
  /**
   * Sends a message to a running agent, which reads it between two steps, or when it waits for a message. Default recipient: the
   * root. The same `id` counts once, among the newest 200 messages and deliveries of the run. Rejects with an `InvalidValueError` if
   * the server does not know the run, or if the run or the recipient has ended.
   */
  send(runId: string, message: JsonValue, options?: RestateSendOptions): Promise<void>;
  /** Cancels a run for good, wherever its agents are. */
  cancel(runId: string, reason: string): Promise<void>;
  /** The runs that the server knows. */
  list(): Promise<readonly RunSummary[]>;
  /**
   * What is known of a run: who has worked and for how much, its calls, what it waits for, and its result if it is over. It needs no
   * agents. Rejects with an `InvalidValueError` if the server does not know the run.
   */
  inspect(runId: string): Promise<RunReport>;
  /**
   * What a run has done so far, as the events that observers get: each answer as one text, and without steps, progress and deltas. Later
   * calls return the same events, and what is new after them. Rejects with an `InvalidValueError` if the server does not know the run.
   */
  recordedEvents(runId: string): Promise<readonly RunEvent[]>;
  /** Deletes a run that is over. Rejects if it is still under way. */
  delete(runId: string): Promise<void>;
  /**
   * Deletes runs that ended more than `olderThanMs` milliseconds ago. Returns their ids. If some cannot be deleted, it rejects with the
   * first error, after it has deleted the others.
   */
  prune(options: { readonly olderThanMs: number }): Promise<RunId[]>;
  /**
   * Stops serving and following. Runs continue wherever there is a worker; with `drain` it waits for the followed runs to end
   * first.
   */
  close(options?: { readonly drain?: boolean | undefined }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a runtime whose runs are executed by a Restate server. Any process that reaches the server can start and follow runs; a
 * process that calls `listen` is a worker. Throws an `InvalidValueError` if an option is wrong.
 */
export function restateRuntime(options: RestateRuntimeOptions): RestateRuntime {
  checkOptions(options);
  const { clock = wallClock, ids = systemIds, hooks = NO_HOOKS, headers } = options;
  const ports: ContextPorts = {
    ...asOwn(options, OPTIONS),
    clock,
    ids,
    hooks: guardedHooks(hooks, options.logger),
  };
  const agents = new Map<string, Agent>();
  const ingress = new Ingress({ url: options.ingress, headers });
  const closed = new AbortController();
  const admin = new Admin({ url: options.admin, headers, closed: closed.signal });
  const roots = new RootClient({ ingress, admin, clock, closed: closed.signal });
  const live = new Set<RootHandle>();
  const listening = new Set<Listening>();
  const handler = workerHandler(options, {
    agents,
    register: (agent) => void runtime.register(agent),
    ports,
    ingress,
    roots,
    closed: closed.signal,
  });

  /** `token` is cancelled by the caller's signal, and stops listening to it when the result is there. */
  const launch = (
    token: CancellationToken,
    asked: Pick<FollowOptions, "runId" | "agentId" | "begin" | "cancel" | "onEvent">,
  ): RootHandle => {
    checkOpen(closed.signal);
    const unblock = (): void => roots.unblock(asked.runId);
    const handle = follow({
      ...asked,
      unblock,
      ingress,
      closed: closed.signal,
      agents,
      logger: ports.logger,
    });
    live.add(handle);
    token.onCancel(({ reason }) => handle.cancel(reason));
    const forget = (): void => {
      live.delete(handle);
      token.dispose();
    };
    handle.result.then(forget, forget);
    return handle;
  };

  const runtime: RestateRuntime = {
    handler,
    register(agent) {
      agents.set(versionName(agent), agent);
      return runtime;
    },
    async listen(where) {
      const served = await listenOn(handler, where);
      listening.add(served);
      return served;
    },
    deploy: (uri) => admin.register(uri),
    run<T, A extends Agent<T>>(agent: A, input: string, asked: RestateRunOptions = {}) {
      const chosen = versionOf(agents, agent, asked?.version);
      const described = launchRun(chosen, input, asked, { ids, now: clock.now() });
      const token = new CancellationToken(asked.signal);
      runtime.register(chosen);
      const runId = RunId(described.runId);
      const spawns = asked.spawnBudget ?? chosen.defaults?.spawnBudget;
      let starting = Promise.resolve();
      const begin = (): Promise<void> =>
        (starting = roots.start(runId, async () => {
          const launched = await admitRoot(chosen, ports, described, token);
          const { reason } = token;
          const stopped = reason === undefined ? undefined : { reason };
          return { launch: launched, spawns, nonce: ids.uuid(), stopped };
        }));
      // A run that was not started here may be another caller's run with the same id, which must not be cancelled.
      const cancel = (why: string): void => void starting.then(() => roots.stop(runId, why)).catch(() => {});
      const { onEvent } = asked;
      return launch(token, { runId, agentId: chosen.id, begin, cancel, onEvent }) as RootHandle<AnswerOf<A>>;
    },
    resume(runId, asked = {}) {
      checkFields("resume options", asked, RESUME_OPTIONS);
      const { decisions = {}, retryFailed = false, signal, onEvent } = asked;
      checkFunction("resume options.onEvent", onEvent);
      const begin = async (): Promise<void> => {
        checkDecisions(decisions);
        if (checkBoolean("resume options.retryFailed", retryFailed)) await roots.retry(runId, ids.uuid());
        await roots.resume(runId, decisions);
      };
      const cancel = (why: string): void => void roots.stop(runId, why).catch(() => {});
      return launch(new CancellationToken(signal), {
        runId: RunId(runId),
        agentId: undefined,
        begin,
        cancel,
        onEvent,
      });
    },
    async deliver(runId, name, value, asked = {}) {
      checkFields("deliver options", asked, ["id", "mustExist", "mustWait"]);
      const { id, mustExist = false, mustWait = false } = asked;
      checkBoolean("deliver options.mustExist", mustExist);
      checkBoolean("deliver options.mustWait", mustWait);
      const known = id === undefined ? ids.uuid() : deliveryId(name, id);
      checkDelivered(name, value);
      await roots.deliver(RunId(runId), { id: known, name, value, mustExist, mustWait });
    },
    async send(runId, message, asked = {}) {
      const sent = checkSent(RunId(runId), message, asked, { ids, now: clock.now() });
      await roots.send(RunId(runId), sent);
    },
    async cancel(runId, reason) {
      checkText("cancel reason", reason);
      await roots.stop(RunId(runId), reason);
    },
    list: () => admin.list(),
    async recordedEvents(runId) {
      checkOpen(closed.signal);
      const reading = recordOf(ingress, RunId(runId), closed.signal);
      return eventsIn(await unblockWhileWaiting(reading, () => roots.unblock(runId)));
    },
    async inspect(runId) {
      checkOpen(closed.signal);
      const reading = inspectRun(ingress, RunId(runId), closed.signal);
      return unblockWhileWaiting(reading, () => roots.unblock(runId));
    },
    async delete(runId) {
      await roots.forget(RunId(runId));
    },
    async prune(asked) {
      const before = pruneBefore(asked, clock.now());
      checkOpen(closed.signal);
      return pruneRuns(await admin.list(), before, (runId) => roots.forget(runId));
    },
    async close(asked = {}) {
      checkFields("close options", asked, ["drain"]);
      const drain = checkBoolean("close options.drain", asked.drain ?? false);
      const handles = [...live];
      if (drain) await Promise.allSettled(handles.map(({ result }) => result));
      closed.abort();
      await Promise.allSettled(handles.map(({ result }) => result));
      for (const served of listening) await served.close();
    },
    [Symbol.asyncDispose]: () => runtime.close(),
  };
  checkAgents("runtime options.agents", options.agents ?? []);
  for (const agent of options.agents ?? []) runtime.register(agent);
  return runtime;
}
