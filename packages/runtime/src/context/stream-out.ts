import type { AbortSignalLike, ModelEvent, ModelResponse, StreamTransform } from "@ravi/kernel";
import { answerDeltas } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";

type Delta = Exclude<ModelEvent, { type: "finish" }>;
/** Receives the deltas of an answer while it is streamed. */
export type Sink = (event: Delta) => void;

/** A call whose attempts are streamed. */
interface Streamed {
  readonly exec: Execution;
  readonly transforms: readonly StreamTransform[] | undefined;
  /** The sink of the newest attempt, while it is running. */
  sink: Sink | undefined;
  /** Whether observers have got a delta of the newest attempt. */
  isTold: boolean;
}

/**
 * Makes one attempt and sends its deltas to observers, through the layers' transforms, so that they never see what a redactor removes. An
 * attempt that a layer has given up may still go on: its deltas are dropped, and it leaves alone what a newer attempt has in the
 * transforms.
 */
export async function streamOut(
  call: Streamed,
  signal: AbortSignalLike | undefined,
  attempt: (sink: Sink) => Promise<ModelResponse>,
): Promise<ModelResponse> {
  // The one added last is the innermost, and sees an event first.
  const transforms = call.transforms?.toReversed();
  if (call.sink !== undefined) discard(transforms);
  const sink: Sink = (event) => {
    if (call.sink !== sink || signal?.aborted === true) return;
    if (transforms === undefined) emitDelta(call, event);
    else emitThrough(call, transforms, 0, [event]);
  };
  call.sink = sink;
  try {
    const response = await attempt(sink);
    if (call.sink !== sink || transforms === undefined) return response;
    if (signal?.aborted === true) discard(transforms);
    else emitRest(call, transforms);
    return response;
  } catch (error) {
    if (call.sink === sink) discard(transforms);
    throw error;
  } finally {
    if (call.sink === sink) call.sink = undefined;
  }
}

/** Empties the transforms for the next attempt. What they held is dropped. */
function discard(transforms: readonly StreamTransform[] = []): void {
  for (const transform of transforms) {
    try {
      transform.flush();
    } catch {
      // A guard refused the rest of an answer that is dropped anyway. The reason why the attempt failed says more.
    }
  }
}

function emitRest(call: Streamed, transforms: readonly StreamTransform[]): void {
  for (const [at, transform] of transforms.entries())
    emitThrough(call, transforms, at + 1, transform.flush());
}

/** Sends events through the transforms from the `at`-th on, and what comes out of the last to the observers. */
function emitThrough(
  call: Streamed,
  transforms: readonly StreamTransform[],
  at: number,
  events: readonly ModelEvent[],
): void {
  let left = events;
  for (const transform of transforms.slice(at)) left = left.flatMap((event) => transform.push(event));
  for (const event of left) if (event.type !== "finish") emitDelta(call, event);
}

/** Tells observers of an answer all at once, if no part of it was streamed to them. */
export function tellAnswer({ exec, isTold }: Streamed, response: ModelResponse): void {
  if (isTold || !exec.engine.isWatched) return;
  for (const delta of answerDeltas(response)) exec.emit(delta);
}

function emitDelta(call: Streamed, event: Delta): void {
  const { exec } = call;
  call.isTold = true;
  if (event.type !== "toolCall") exec.emit(event);
  else exec.emit({ type: "toolArguments", index: event.index, name: event.name, delta: event.delta });
}
