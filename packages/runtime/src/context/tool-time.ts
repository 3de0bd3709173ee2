import { type AbortSignalLike, CancellationToken, type Clock, type ToolResult } from "@ravi/kernel";
import { TimeLimit, toolFailure } from "@ravi/kernel/loop";
import { timer } from "../engine/waiting.ts";
import type { Stillness } from "./stillness.ts";

/** A tool's time limit, and what may stop the tool before that. */
export interface ToolTime {
  readonly name: string;
  readonly timeoutS: number;
  readonly clock: Clock;
  /** How long its model calls have waited for money, which does not count. */
  readonly stillness: Stillness;
  readonly signal: AbortSignalLike;
  /** The token of the execution. */
  readonly token: CancellationToken;
}

/**
 * Runs a tool with a time limit. When the time is over, its signal is aborted, it can pay for nothing more, and the result is a failure
 * that says so.
 */
export async function withinTime(
  { name, timeoutS, clock, stillness, signal, token: executionToken }: ToolTime,
  run: (signal: AbortSignalLike) => Promise<ToolResult>,
): Promise<ToolResult> {
  using token = new CancellationToken(signal);
  const problem = `${name} took longer than ${timeoutS} s`;
  const up = Promise.withResolvers<void>();
  const limit = new TimeLimit({
    limitMs: timeoutS * 1000,
    setTimer: (callback, delayMs) => timer(clock, callback, delayMs),
    stoodMs: () => stillness.ms,
    onTime: up.resolve,
  });
  const late = up.promise.then(() => {
    token.cancel(problem);
    return toolFailure(problem);
  });
  // If everything was stopped, nobody waits for a tool that does not stop, so its timer is not needed either.
  const unlisten = executionToken.onCancel(() => limit.cancel());
  try {
    return await Promise.race([run(token.signal), late]);
  } finally {
    limit.cancel();
    unlisten();
  }
}
