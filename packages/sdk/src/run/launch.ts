import {
  type Agent,
  checkFields,
  checkInteger,
  InvalidValueError,
  isPromiseLike,
  type JsonValue,
  type RootHandle,
  type RunEvent,
  type RunId,
  type RunStatus,
} from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";
import type { DeliverOptions, Runtime, SendOptions } from "@ravi/runtime";
import type { Limits } from "../limits.ts";
import { CallLog } from "../tree/call-log.ts";
import { defaultHistory } from "./host/histories.ts";
import { buildRuntime } from "./host/host.ts";
import { isInterruptWanted, printLine, stopAtInterrupt } from "./host/interrupt.ts";
import { type BorrowedJournal, borrowJournal } from "./host/journals.ts";
import type { HostOptions } from "./options.ts";
import { type SdkResult, sdkResult } from "./result.ts";

/** A run that was started. */
export interface SdkHandle<T = unknown> {
  readonly runId: RunId;
  readonly status: RunStatus;
  /**
   * Resolves when the run has ended or is suspended. If the run fails it does not reject: see `status` and `error` of the
   * result. It rejects only if the run could not be started, if its journal fails, or if another process has taken the run
   * over.
   */
  readonly result: Promise<SdkResult<T>>;
  /**
   * Events from this call on; call it right after `start` to get the first ones, and because a model that is called while nobody
   * watches is not streamed. Any number of readers may call it.
   */
  events(): AsyncIterable<RunEvent>;
  /** Stops the run for good: a cancelled run cannot be resumed. */
  cancel(reason: string): void;
  /**
   * Stops the run in this process and returns its result. With a journal it is suspended and `resume` continues it; without one
   * it is cancelled. With `graceMs`, model and tool calls under way get so many milliseconds to end, and no other call begins:
   * what is cut off is made again by `resume`, or has to be decided on. Default: 0.
   */
  suspend(options?: { readonly graceMs?: number | undefined }): Promise<SdkResult<T>>;
  /**
   * Gives the run a value that it waits for, or will wait for: an approval, an answer. A second call with the same `id` has no
   * effect; with `mustWait`, one for a name that the run does not wait for now is refused. Rejects if the run is over, unless you opened its journal yourself.
   */
  deliver(name: string, value: JsonValue, options?: DeliverOptions): Promise<void>;
  /**
   * Sends a message to the agent while it works; it reads the message between two steps. Rejects if the run is over, unless you
   * opened its journal yourself.
   */
  send(message: JsonValue, options?: SendOptions): Promise<void>;
}

/** What to run, and how to start it. */
interface Launch<T> {
  /** Undefined if a new one is made. */
  readonly runId: string | undefined;
  readonly agents: readonly Agent[];
  /** The limits that were asked for. Undefined for a resumed run, whose limits are on record. */
  readonly limits: Limits | undefined;
  readonly begin: (runtime: Runtime) => RootHandle<T>;
}

/** Sets up everything around a run, starts it, and releases everything when it is over. */
export function launch<T>(options: HostOptions, { runId, agents, limits, begin }: Launch<T>): SdkHandle<T> {
  const borrowed = borrowJournal(options.journal, options.clock);
  const { journal, directory } = borrowed;
  // With a journal its claims keep runs apart.
  const freeId = journal === undefined ? occupyId(runId) : undefined;
  const ownHistory = options.history === undefined ? defaultHistory(directory) : undefined;
  const log = new CallLog();
  let runtime: Runtime;
  let handle: RootHandle<T>;
  try {
    runtime = buildRuntime(options, {
      agents,
      journal,
      history: options.history ?? ownHistory,
      hooks: log.listeningWith(options.hooks, options.logger),
    });
    handle = begin(runtime);
  } catch (error) {
    freeId?.();
    // The first error is the one to report.
    borrowed.release().catch(() => {});
    throw error;
  }
  const delivered = forwardEvents(handle, options);
  const isListening = options.handleSignals ?? (journal !== undefined && isInterruptWanted());
  let wasInterrupted = false;
  let isOver = false;
  const stop = (): void => {
    wasInterrupted = true;
    void runtime.close({ reason: "Ctrl-C" });
  };
  const stopListening = isListening
    ? stopAtInterrupt({ runId: handle.runId, canResume: journal !== undefined, stop })
    : undefined;
  const finish = async (): Promise<SdkResult<T>> => {
    try {
      const result = await handle.result;
      await delivered;
      return sdkResult(result, { agentId: handle.agentId, asked: limits, log });
    } finally {
      isOver = true;
      freeId?.();
      stopListening?.();
      await ownHistory?.close?.();
      await borrowed.release();
    }
  };
  const result = finish().then((made) => {
    if (wasInterrupted && made.status === "suspended") printLine(howToResume(made, agents, borrowed));
    return made;
  });
  /** The journal of a directory is closed together with its run. One that the user opened still accepts messages afterwards. */
  const checkOpen = (instead: string): void => {
    if (isOver && directory !== undefined) throw notActive(handle, instead);
  };
  return {
    runId: handle.runId,
    get status() {
      return handle.status;
    },
    result,
    events() {
      // A reader may consume all events and only then await `result`. If it has rejected before that, Node would end the
      // process because of an unhandled rejection.
      result.catch(() => {});
      return handle.events();
    },
    cancel: (reason) => handle.cancel(reason),
    async suspend(how = {}) {
      checkFields("suspend options", how, ["graceMs"]);
      const { graceMs = 0 } = how;
      checkInteger("suspend options.graceMs", graceMs, 0);
      await runtime.close({ reason: "suspend() was called", graceMs });
      return result;
    },
    async deliver(name, value, how) {
      checkOpen("use deliver(runId, name, value, { journal }), and resume to continue it");
      return runtime.deliver(handle.runId, name, value, how);
    },
    async send(message, how) {
      checkOpen("startResume continues it, and its new handle takes the message");
      return runtime.send(handle.runId, message, how);
    },
  };
}

/** The ids of runs without a journal. Each has a runtime of its own, which knows no other. */
const running = new Set<string>();

/** Throws if a run has that id. Returns what frees it. */
function occupyId(runId: string | undefined): (() => void) | undefined {
  if (runId === undefined) return undefined;
  if (running.has(runId)) {
    const expected = "an id that no running run has; use the handle of that run, or another id";
    throw new InvalidValueError({ field: "runId", value: runId, expected });
  }
  running.add(runId);
  return () => void running.delete(runId);
}

/**
 * Passes each event to `onEvent`. If that throws, the first error is logged, on the console if there is no logger, and it keeps getting
 * events.
 */
async function forwardEvents(handle: RootHandle, { onEvent, logger }: HostOptions): Promise<void> {
  if (onEvent === undefined) return;
  let failed = false;
  const failedWith = (error: unknown): void => {
    if (!failed)
      tellLog(logger ?? console, "warn", "onEvent threw an error; the run continues", {
        runId: handle.runId,
        error: shown(error),
      });
    failed = true;
  };
  for await (const event of handle.events()) {
    try {
      const returned: unknown = onEvent(event);
      // An async listener is not awaited, but if it rejects that must not end the process.
      if (isPromiseLike(returned)) Promise.resolve(returned).catch(failedWith);
    } catch (error) {
      failedWith(error);
    }
  }
}

/** With the name of an error. Not everything that is thrown can be converted to text. */
function shown(error: unknown): string {
  try {
    return String(error);
  } catch {
    return messageOf(error);
  }
}

/** `instead` is what to do about a run that is only suspended. */
function notActive({ runId, status }: RootHandle, instead: string): InvalidValueError {
  const expected =
    status === "suspended"
      ? `a run that is active in this process; this one is suspended: ${instead}`
      : `a run that is active; this one is ${status}`;
  return new InvalidValueError({ field: "runId", value: runId, expected });
}

function howToResume(
  { runId, limits }: SdkResult,
  agents: readonly Agent[],
  { directory }: BorrowedJournal,
): string {
  const where = directory === undefined ? "the same journal" : JSON.stringify(directory);
  const who = agents.map(({ id }) => id).join(", ");
  const { seconds } = limits.budget;
  const until =
    seconds === null
      ? ""
      : `\nravi: its limit of ${seconds} seconds counts from its start, also while it is suspended`;
  return `ravi: run ${runId} is suspended. To continue it: resume(${JSON.stringify(runId)}, { agents: [${who}], journal: ${where} })${until}`;
}
