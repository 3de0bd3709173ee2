import {
  type Agent,
  AgentId,
  ExecId,
  type Logger,
  type RootHandle,
  type RunEvent,
  type RunId,
  type RunResult,
  type RunStatus,
} from "@ravi/kernel";
import { type EventListener, messageOf, tellListener, tellLog } from "@ravi/kernel/loop";
import type { Ingress } from "../ingress.ts";
import { ROOT, TOPIC, WATCHER } from "../names.ts";
import { pause } from "../pause.ts";
import { type RunView, workflowKey } from "../root/messages.ts";
import { unknownRun } from "../root/unknown-run.ts";
import { FIRST } from "../topic/log.ts";
import type { Page } from "../topic/object.ts";
import { unblockWhileWaiting } from "../unblock.ts";
import { poll, pollDelay } from "./poll.ts";
import { detachedResult, resultOf, shaped } from "./result.ts";

export interface FollowOptions {
  readonly runId: RunId;
  readonly agentId: AgentId | undefined;
  readonly ingress: Ingress;
  /** Aborted when the client closes. */
  readonly closed: AbortSignal;
  /** Runs before the first poll: starts the run, or moves it. */
  readonly begin: () => Promise<void>;
  readonly cancel: (reason: string) => void;
  /** The run's events may be held up by a deployment that is gone. Tells the server to use another one. */
  readonly unblock: () => void;
  /** The agents that this client knows. Their schemas read structured results, which come as JSON. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** Called with each event of the run, if it was begun. The result comes after the last one. */
  readonly onEvent?: EventListener | undefined;
  readonly logger: Logger | undefined;
}

/** The handle of a run for a client in any process. It only reads: the run does not depend on it. */
export function follow(options: FollowOptions): RootHandle {
  const { runId, ingress, closed, onEvent, logger } = options;
  // A signal of its own. On the client's signal, every followed run would leave listeners.
  const signal = AbortSignal.any([closed]);
  const seen: Seen = { status: "pending", agentId: options.agentId ?? AgentId("unknown") };
  const over = new AbortController();
  let telling: Promise<void> | undefined;
  const readView = (): Promise<RunView> =>
    poll(ingress, { service: ROOT, key: runId, handler: "standings" }, null, signal);
  const begun = options.begin();
  const followToEnd = async (): Promise<RunResult> => {
    await begun;
    seen.status = "running";
    if (onEvent !== undefined) telling = tellAll(runId, events(), { onEvent, logger, signal });
    const ended = new AbortController();
    const finish = (): void => ended.abort();
    const awake = AbortSignal.any([signal, ended.signal]);
    let isAttached = false;
    for (let polls = 0, version = 0; ; polls++) {
      const view = await readView();
      if (!view.known) throw unknownRun(runId);
      // The end is reported at once. That a run waits or is suspended is only found by looking.
      if (!isAttached)
        ingress.whenOver(WATCHER, workflowKey(runId, view.retries ?? 0), signal).then(finish, () => {});
      isAttached = true;
      if (view.agentId !== undefined) seen.agentId = view.agentId as AgentId;
      const result = shaped(resultOf(runId, view), view, options.agents);
      if (result?.error?.code === "AGENT_NOT_FOUND" && result.status === "suspended") throw result.error;
      seen.status = result?.status ?? (view.status === "waiting" ? "suspended" : "running");
      if (result !== undefined) return result;
      if (view.version !== version) polls = 0;
      version = view.version;
      await pause(pollDelay(polls), ended.signal.aborted ? signal : awake);
    }
  };
  const followed = followToEnd()
    .catch((error: unknown) => {
      if (!signal.aborted) throw error;
      seen.status = "suspended";
      return detachedResult(runId);
    })
    .finally(() => over.abort());
  // The topic of a run that is suspended, or could not be followed, is never closed: reading ends with what is there.
  let isLost = false;
  const isLeft = (): boolean => over.signal.aborted && (isLost || seen.status === "suspended");
  /** Somebody may delete the run when it is over, and its topic with it. */
  const isGone = async (): Promise<boolean> => over.signal.aborted && !(await readView()).known;
  // Before a run that is retried has begun, its events seem to be over.
  const hasBegun = begun.catch(() => {});
  const events = (): AsyncGenerator<RunEvent, void> =>
    eventsOf(ingress, runId, signal, { hasBegun, over: over.signal, isLeft, isGone });
  followed.catch(() => {
    isLost = true;
    seen.status = "failed";
  });
  const whenTold = async (): Promise<RunResult> => {
    try {
      return await followed;
    } finally {
      if (telling !== undefined) await unblockWhileWaiting(telling, options.unblock);
    }
  };
  const result = onEvent === undefined ? followed : whenTold();
  // A caller that wants the error awaits `result`. Without this handler, an error that nobody awaits would end the process.
  result.catch(() => {});
  return new FollowingHandle(runId, seen, { cancel: options.cancel, result, events });
}

/** What was seen of a run last. */
interface Seen {
  status: RunStatus;
  agentId: AgentId;
}

/** A class, because getters of a literal would keep it alive until the next full garbage collection (docs/decisions/0012). */
class FollowingHandle implements RootHandle {
  readonly runId: RunId;
  readonly execId: ExecId;
  readonly result: Promise<RunResult>;
  private readonly seen: Seen;
  private readonly does: Pick<RootHandle, "cancel" | "events">;

  constructor(runId: RunId, seen: Seen, does: Pick<RootHandle, "cancel" | "result" | "events">) {
    this.runId = runId;
    this.execId = ExecId(runId);
    this.result = does.result;
    this.seen = seen;
    this.does = does;
  }

  readonly cancel = (reason: string): void => this.does.cancel(reason);

  readonly events = (): AsyncIterable<RunEvent> => this.does.events();

  get agentId(): AgentId {
    return this.seen.agentId;
  }

  get status(): RunStatus {
    return this.seen.status;
  }
}

interface Listening {
  readonly onEvent: EventListener;
  readonly logger: Logger | undefined;
  /** Aborted when the client closes. */
  readonly signal: AbortSignal;
}

/** Calls the listener with each event. That they cannot be read does not change the run, and is only logged. */
async function tellAll(
  runId: RunId,
  events: AsyncIterable<RunEvent>,
  { onEvent, logger, signal }: Listening,
): Promise<void> {
  try {
    for await (const event of events) {
      if (signal.aborted) return;
      tellListener(onEvent, event, logger);
    }
  } catch (error) {
    const what =
      "the events of the run could not be read; onEvent is not called any more, and the run continues";
    tellLog(logger, "error", what, { runId, error: messageOf(error) });
  }
}

interface Reading {
  /** Never rejects. */
  readonly hasBegun: Promise<void>;
  /** Aborted when the result is there. */
  readonly over: AbortSignal;
  readonly isLeft: () => boolean;
  readonly isGone: () => Promise<boolean>;
}

/** All events from the first to the last; if the run is suspended, those that there are. */
async function* eventsOf(
  ingress: Ingress,
  runId: RunId,
  signal: AbortSignal,
  { hasBegun, over, isLeft, isGone }: Reading,
): AsyncGenerator<RunEvent, void> {
  await hasBegun;
  const awake = AbortSignal.any([signal, over]);
  for (let from = FIRST, polls = 0; !signal.aborted; polls++) {
    const isLast = isLeft();
    const target = { service: TOPIC, key: runId, handler: "read" };
    let page: Page;
    try {
      page = await poll<Page>(ingress, target, { from }, signal);
      if (page.events.length === 0 && !page.isClosed && (await isGone())) return;
    } catch (error) {
      // The reader has closed its runtime.
      if (signal.aborted) return;
      throw error;
    }
    const { events, isClosed } = page;
    for (const event of events) yield event;
    from += events.length;
    if (isClosed || (isLast && events.length === 0)) return;
    // The last events come soon after the end, so the pause ends with the run.
    const wasOver = over.aborted;
    if (events.length === 0) await pause(pollDelay(polls), wasOver ? signal : awake);
    if (events.length > 0 || over.aborted !== wasOver) polls = 0;
  }
}
