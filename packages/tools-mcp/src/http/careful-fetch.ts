import type { TimerClock } from "@ravi/kernel/loop";
import { field, tryParse } from "@ravi/kernel/provider";
import type { FloodGate } from "../open/flood-gate.ts";
import { Exchange } from "./exchange.ts";

export interface CarefulFetchOptions {
  readonly gate: FloodGate;
  readonly clock: TimerClock;
  /** For what is only said, and not asked. */
  readonly noticeTimeoutMs: number;
  readonly onFlood: (reason: string) => void;
}

/** The platform's `fetch` with what the client's HTTP transport lacks: limits on what comes back. */
export function carefulFetch(
  options: CarefulFetchOptions,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  const { gate, clock, noticeTimeoutMs, onFlood } = options;
  return async (url, init = {}) => {
    const message = typeof init.body === "string" ? tryParse(init.body) : undefined;
    const isForNotices = init.method === "GET";
    const exchange = new Exchange({ isForNotices, gate, onFlood });
    const isNotice = !isForNotices && field(message, "id") === undefined;
    const timer = isNotice
      ? clock.setTimer(() => exchange.abort(new Error("no answer")), noticeTimeoutMs)
      : undefined;
    const { signal } = init;
    const stop = (): void => exchange.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    if (signal?.aborted === true) stop();
    const over = (): void => {
      timer?.cancel();
      signal?.removeEventListener("abort", stop);
    };
    try {
      return exchange.guard(await fetch(url, { ...init, signal: exchange.signal }), over);
    } catch (error) {
      over();
      throw error;
    }
  };
}
