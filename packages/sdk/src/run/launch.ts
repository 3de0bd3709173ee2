import { type Agent, InvalidValueError, isPromiseLike, type RootHandle } from "@ravi/kernel";
import { messageOf, tellLog } from "@ravi/kernel/loop";
import type { Runtime } from "@ravi/runtime";
import type { Limits } from "../limits.ts";
import { CallLog } from "../tree/call-log.ts";
import { ActiveHandle, type SdkHandle } from "./handle.ts";
import { defaultHistory } from "./host/histories.ts";
import { buildRuntime } from "./host/host.ts";
import { isInterruptWanted, printLine, stopAtInterrupt } from "./host/interrupt.ts";
import { type BorrowedJournal, borrowJournal } from "./host/journals.ts";
import type { HostOptions } from "./options.ts";
import { type SdkResult, sdkResult } from "./result.ts";

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
  const isShut = (): boolean => isOver && directory !== undefined;
  return new ActiveHandle({ runtime, handle, result, isShut });
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
