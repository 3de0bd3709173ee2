import {
  type AbortSignalLike,
  type ModelEvent,
  type ModelResponse,
  type StreamTransform,
  textOf,
} from "@ravi/kernel";
import { answerDeltas } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";

type Delta = Exclude<ModelEvent, { type: "finish" }>;
/** Receives the deltas of an answer while it is streamed. */
export type Sink = (event: Delta) => void;

/** What observers have of an attempt. */
export interface Told {
  hasText: boolean;
  hasThoughts: boolean;
  /** The text that transforms have let through. Not kept if there are none, since the answer has it: that would be 5 % of a delta. */
  text: string | undefined;
  /** The answer of the attempt, once all of it was streamed. */
  answer: ModelResponse | undefined;
}

/** A call whose attempts are streamed. */
interface Streamed {
  readonly exec: Execution;
  readonly key: string;
  readonly isHeard: boolean;
  readonly transforms: readonly StreamTransform[] | undefined;
  /** The sink of the newest attempt, while it is running. */
  sink: Sink | undefined;
  /** Undefined until observers get a delta of the newest attempt. */
  told: Told | undefined;
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
    if (call.sink !== sink) return response;
    if (signal?.aborted === true) {
      discard(transforms);
      return response;
    }
    if (transforms !== undefined) emitRest(call, transforms);
    if (call.told !== undefined) call.told.answer = response;
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

/**
 * Tells observers of an answer when its call is over, unless it was streamed to them. If they have something else (a part of an attempt that
 * failed, or an answer that a layer has replaced since), they are told to discard that.
 */
export function tellAnswer(call: Streamed, response: ModelResponse): void {
  const { exec } = call;
  // An attempt that a layer has left running says nothing any more.
  call.sink = undefined;
  if (!call.isHeard) return;
  if (call.told !== undefined && isOther(call.told, response)) restartAnswer(call);
  for (const delta of answerDeltas(response, call.told)) exec.emit(delta);
}

/** Whether observers have another text than that of the answer. What a transform shows them instead of the model's words counts as the same. */
function isOther({ text, answer }: Told, response: ModelResponse): boolean {
  if (answer === response) return false;
  if (answer === undefined) return true;
  const final = textOf(response.message);
  return final !== textOf(answer.message) && final !== text;
}

/** If observers have a part of an earlier attempt, tells them that the answer starts again, so that they can discard that part. */
export function restartAnswer(call: Streamed): void {
  const { exec, key, told } = call;
  if (told !== undefined) exec.emit({ type: "progress", name: "answerRestarted", data: { key } });
  call.told = undefined;
}

function newlyTold({ transforms }: Streamed): Told {
  const text = transforms === undefined ? undefined : "";
  return { hasText: false, hasThoughts: false, text, answer: undefined };
}

function emitDelta(call: Streamed, event: Delta): void {
  const { exec } = call;
  const told = (call.told ??= newlyTold(call));
  if (event.type === "toolCall") {
    exec.emit({ type: "toolArguments", index: event.index, name: event.name, delta: event.delta });
    return;
  }
  if (event.type === "text") {
    told.hasText ||= event.delta !== "";
    if (told.text !== undefined) told.text += event.delta;
  } else if (event.type === "reasoning") told.hasThoughts = true;
  exec.emit(event);
}
