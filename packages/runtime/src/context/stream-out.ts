import type { ModelEvent, ModelResponse, StreamTransform } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

type Delta = Exclude<ModelEvent, { type: "finish" }>;

/** One attempt whose deltas reach observers through the layers' transforms, so that what a redactor removes never does. */
export async function streamOut(
  exec: Execution,
  added: readonly StreamTransform[] | undefined,
  attempt: (sink: (event: Delta) => void) => Promise<ModelResponse>,
): Promise<ModelResponse> {
  if (added === undefined) return attempt((event) => emitDelta(exec, event));
  // The one added last is the innermost, and sees an event first.
  const transforms = added.toReversed();
  try {
    const response = await attempt((event) => emitThrough(exec, transforms, 0, [event]));
    for (const [at, transform] of transforms.entries())
      emitThrough(exec, transforms, at + 1, transform.flush());
    return response;
  } catch (error) {
    for (const transform of transforms) discard(transform);
    throw error;
  }
}

/** It begins anew with the next attempt, and what it held is nobody's. */
function discard(transform: StreamTransform): void {
  try {
    transform.flush();
  } catch {
    // A guard that trips over the rest of an answer which has failed anyway: why it failed says more.
  }
}

/** Sends events through the transforms from the `at`-th on, and what comes out of the last to the observers. */
function emitThrough(
  exec: Execution,
  transforms: readonly StreamTransform[],
  at: number,
  events: readonly ModelEvent[],
): void {
  let left = events;
  for (const transform of transforms.slice(at)) left = left.flatMap((event) => transform.push(event));
  for (const event of left) if (event.type !== "finish") emitDelta(exec, event);
}

function emitDelta(exec: Execution, event: Delta): void {
  if (event.type !== "toolCall") exec.emit(event);
  else exec.emit({ type: "toolArguments", index: event.index, name: event.name, delta: event.delta });
}
