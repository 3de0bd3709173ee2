import type { JsonValue, RunEvent, RunId, RunStatus } from "@ravi/kernel";
import type { DeliverOptions, SendOptions } from "@ravi/runtime";
import type { SdkHandle } from "../run/handle.ts";
import type { SdkResult } from "../run/result.ts";

/** The handle of a run that listens from the beginning, for whoever asks for the events first: by then the run may have begun. */
export class WatchedHandle<T> implements SdkHandle<T> {
  readonly runId: RunId;
  readonly result: Promise<SdkResult<T>>;
  readonly #handle: SdkHandle<T>;
  #first: AsyncIterable<RunEvent> | undefined;

  constructor(handle: SdkHandle<T>) {
    this.runId = handle.runId;
    this.result = handle.result;
    this.#handle = handle;
    this.#first = handle.events();
  }

  get status(): RunStatus {
    return this.#handle.status;
  }

  readonly events = (): AsyncIterable<RunEvent> => {
    const events = this.#first ?? this.#handle.events();
    this.#first = undefined;
    return events;
  };

  readonly cancel = (reason: string): void => this.#handle.cancel(reason);

  readonly suspend: SdkHandle<T>["suspend"] = (how) => this.#handle.suspend(how);

  readonly deliver = (name: string, value: JsonValue, how?: DeliverOptions): Promise<void> =>
    this.#handle.deliver(name, value, how);

  readonly send = (message: JsonValue, how?: SendOptions): Promise<void> => this.#handle.send(message, how);
}
