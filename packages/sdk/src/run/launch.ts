import {
  type Agent,
  InvalidValueError,
  isPromiseLike,
  type JsonValue,
  type RootHandle,
  type RunEvent,
  type RunId,
  type RunStatus,
} from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";
import type { Runtime, SendOptions } from "@ravi/runtime";
import type { Limits } from "../limits.ts";
import { CallLog } from "../tree/call-log.ts";
import { defaultHistory } from "./histories.ts";
import { buildRuntime } from "./host.ts";
import { isInterruptWanted, say, stopAtInterrupt } from "./interrupt.ts";
import { type BorrowedJournal, borrowJournal } from "./journals.ts";
import type { HostOptions } from "./options.ts";
import { type SdkResult, sdkResult } from "./result.ts";

/** A run under way. */
export interface SdkHandle<T = unknown> {
  readonly runId: RunId;
  readonly status: RunStatus;
  /**
   * Never rejects for the run's own fate: that is in its status. It rejects where the run could not be started, where its journal
   * fails, or where another process has taken it over.
   */
  readonly result: Promise<SdkResult<T>>;
  /** From now on; ask right away to see the first. Any number of observers, who never change the run. */
  events(): AsyncIterable<RunEvent>;
  /** Ends the run for good. */
  cancel(reason: string): void;
  /** Ends it in this process; with a journal it keeps its place, and `resume` goes on. Gives its result. */
  suspend(): Promise<SdkResult<T>>;
  /** Gives the run what it waits for, or will: an approval, an answer. The same `id` twice counts once. */
  deliver(name: string, value: JsonValue, options?: { readonly id?: string | undefined }): Promise<void>;
  /** Says something to the agent while it works; it reads it between two steps. */
  send(message: JsonValue, options?: SendOptions): Promise<void>;
}

/** What is run, and how it begins. */
interface Launch<T> {
  readonly agents: readonly Agent[];
  /** What was asked for; a resumed run has what is on record. */
  readonly limits: Limits | undefined;
  readonly isDefaultUsd: boolean;
  readonly begin: (runtime: Runtime) => RootHandle<T>;
}

/** Puts everything around a run, begins it, and takes everything away again when it is over. */
export function launch<T>(
  options: HostOptions,
  { agents, limits, isDefaultUsd, begin }: Launch<T>,
): SdkHandle<T> {
  const borrowed = borrowJournal(options.journal, options.clock);
  const { journal, directory } = borrowed;
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
      isDefaultUsd,
    });
    handle = begin(runtime);
  } catch (error) {
    void borrowed.giveBack();
    throw error;
  }
  const told = tell(handle, options);
  const isListening = options.handleSignals ?? (journal !== undefined && isInterruptWanted());
  let wasInterrupted = false;
  let isOver = false;
  const stop = (): void => {
    wasInterrupted = true;
    void runtime.close();
  };
  const stopListening = isListening
    ? stopAtInterrupt({ runId: handle.runId, canResume: journal !== undefined, stop })
    : undefined;
  const finish = async (): Promise<SdkResult<T>> => {
    try {
      const result = await handle.result;
      await told;
      return sdkResult(result, { agentId: handle.agentId, asked: limits, log });
    } finally {
      isOver = true;
      stopListening?.();
      await ownHistory?.close?.();
      await borrowed.giveBack();
    }
  };
  const result = finish().then((made) => {
    if (wasInterrupted && made.status === "suspended") say(howToResume(made, agents, borrowed));
    return made;
  });
  /** The journal of a directory is closed with its run; one of the user's own still takes what is said. */
  const checkOpen = (): void => {
    if (isOver && directory !== undefined) throw overAlready(handle);
  };
  return {
    runId: handle.runId,
    get status() {
      return handle.status;
    },
    result,
    events() {
      // Whoever reads them to their end asks for the result after it, and that it was rejected before must not end the process.
      result.catch(() => {});
      return handle.events();
    },
    cancel: (reason) => handle.cancel(reason),
    async suspend() {
      await runtime.close();
      return result;
    },
    async deliver(name, value, how) {
      checkOpen();
      return runtime.deliver(handle.runId, name, value, how);
    },
    async send(message, how) {
      checkOpen();
      return runtime.send(handle.runId, message, how);
    },
  };
}

/** Hands the events on, one by one. A listener that throws is told of once, and goes on to be told. */
async function tell(handle: RootHandle, { onEvent, logger }: HostOptions): Promise<void> {
  if (onEvent === undefined) return;
  let failed = false;
  const failedWith = (error: unknown): void => {
    if (!failed) tellLog(logger, "warn", "onEvent failed; the run goes on", { error: String(error) });
    failed = true;
  };
  for await (const event of handle.events()) {
    try {
      const heard: unknown = onEvent(event);
      // An async listener is not waited for, but what it throws must not end the process.
      if (isPromiseLike(heard)) Promise.resolve(heard).catch(failedWith);
    } catch (error) {
      failedWith(error);
    }
  }
}

function overAlready({ runId, status }: RootHandle): InvalidValueError {
  const expected =
    status === "suspended"
      ? "a run under way; this one is suspended: deliver(runId, name, value, { journal }) reaches it, and resume goes on"
      : `a run under way; this one is ${status}`;
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
    seconds === null ? "" : `\nravi: its limit of ${seconds} seconds counts from its start, suspended or not`;
  return `ravi: run ${runId} is suspended. Go on with it: resume(${JSON.stringify(runId)}, { agents: [${who}], journal: ${where} })${until}`;
}
