import {
  checkFields,
  checkInteger,
  InvalidValueError,
  type JsonValue,
  type RootHandle,
  type RunEvent,
  type RunId,
  type RunStatus,
} from "@ravi/kernel";
import type { DeliverOptions, Runtime, SendOptions } from "@ravi/runtime";
import type { SdkResult } from "./result.ts";

/** A run that was started. */
export interface SdkHandle<T = unknown> {
  readonly runId: RunId;
  /** `suspended` also while one of its agents waits for an answer, such as an approval. */
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

/** What the handle of a run works on. */
export interface ActiveRun<T> {
  readonly runtime: Runtime;
  readonly handle: RootHandle<T>;
  readonly result: Promise<SdkResult<T>>;
  /** Whether the run is over, and its journal was closed with it. */
  readonly isShut: () => boolean;
}

/**
 * A class because of its getter: one in a literal would keep the run alive until the next full garbage collection (docs/decisions/0012).
 * Its methods are fields, so that they may be called without it.
 */
export class ActiveHandle<T> implements SdkHandle<T> {
  readonly runId: RunId;
  readonly result: Promise<SdkResult<T>>;
  readonly #run: ActiveRun<T>;

  constructor(run: ActiveRun<T>) {
    this.#run = run;
    this.runId = run.handle.runId;
    this.result = run.result;
  }

  get status(): RunStatus {
    return this.#run.handle.status;
  }

  readonly events = (): AsyncIterable<RunEvent> => {
    // A reader may consume all events and only then await `result`. If it has rejected before that, Node would end the
    // process because of an unhandled rejection.
    this.result.catch(() => {});
    return this.#run.handle.events();
  };

  readonly cancel = (reason: string): void => this.#run.handle.cancel(reason);

  readonly suspend = async (how: { readonly graceMs?: number | undefined } = {}): Promise<SdkResult<T>> => {
    checkFields("suspend options", how, ["graceMs"]);
    const { graceMs = 0 } = how;
    checkInteger("suspend options.graceMs", graceMs, 0);
    await this.#run.runtime.close({ reason: "suspend() was called", graceMs });
    return this.result;
  };

  readonly deliver = async (name: string, value: JsonValue, how?: DeliverOptions): Promise<void> => {
    this.checkOpen("use deliver(runId, name, value, { journal }), and resume to continue it");
    return this.#run.runtime.deliver(this.runId, name, value, how);
  };

  readonly send = async (message: JsonValue, how?: SendOptions): Promise<void> => {
    this.checkOpen("startResume continues it, and its new handle takes the message");
    return this.#run.runtime.send(this.runId, message, how);
  };

  private checkOpen(instead: string): void {
    if (this.#run.isShut()) throw notActive(this.#run.handle, instead);
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
