import { type AbortSignalLike, CancellationToken, type Clock, type ToolResult } from "@ravi/kernel";
import { toolFailure } from "@ravi/kernel/loop";
import { delay } from "../engine/waiting.ts";

export interface ToolTime {
  readonly name: string;
  readonly timeoutS: number;
  readonly clock: Clock;
  readonly signal: AbortSignalLike;
  /** Of the execution. */
  readonly token: CancellationToken;
}

/** A tool with a signal of its own: out of its time, it is told so, pays for nothing more, and its result says so. */
export async function withinTime(
  { name, timeoutS, clock, signal, token: whole }: ToolTime,
  run: (signal: AbortSignalLike) => Promise<ToolResult>,
): Promise<ToolResult> {
  using token = new CancellationToken(signal);
  const limit = delay(clock, timeoutS * 1000);
  const problem = `${name} took longer than ${timeoutS} s`;
  const late = limit.promise.then(() => {
    token.cancel(problem);
    return toolFailure(problem);
  });
  // A tool that does not stop when all is stopped is left behind, and its time with it.
  const unlisten = whole.onCancel(() => limit.cancel());
  try {
    return await Promise.race([run(token.signal), late]);
  } finally {
    limit.cancel();
    unlisten();
  }
}
