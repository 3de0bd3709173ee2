import { type AbortSignalLike, CancellationToken, type Clock, type ToolResult } from "@ravi/kernel";
import { toolFailure } from "@ravi/kernel/loop";
import { delay } from "../engine/waiting.ts";

/** A tool's time limit, and what may stop the tool before that. */
export interface ToolTime {
  readonly name: string;
  readonly timeoutS: number;
  readonly clock: Clock;
  readonly signal: AbortSignalLike;
  /** The token of the execution. */
  readonly token: CancellationToken;
}

/**
 * Runs a tool with a time limit. When the time is over, its signal is aborted, it can pay for nothing more, and the result is a failure
 * that says so.
 */
export async function withinTime(
  { name, timeoutS, clock, signal, token: executionToken }: ToolTime,
  run: (signal: AbortSignalLike) => Promise<ToolResult>,
): Promise<ToolResult> {
  using token = new CancellationToken(signal);
  const limit = delay(clock, timeoutS * 1000);
  const problem = `${name} took longer than ${timeoutS} s`;
  const late = limit.promise.then(() => {
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
