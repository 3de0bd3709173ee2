import { ProviderError } from "../errors/errors.ts";
import { show } from "../errors/show.ts";
import type { ModelEvent, ModelResponse } from "../model/llm.ts";

/**
 * Passes each delta to `sink` and returns the response. A stream that ends without `finish`, or contains something else than
 * events, is a failure of the provider and not an answer: whether it was paid for is not known.
 */
export async function readStream(
  events: AsyncIterable<ModelEvent>,
  sink: (event: Exclude<ModelEvent, { type: "finish" }>) => void,
): Promise<ModelResponse> {
  refuseNoStream(events);
  for await (const event of events) {
    refuseNoEvent(event);
    if (event.type === "finish") return event.response;
    sink(event);
  }
  throw new ProviderError({
    kind: "SERVER_ERROR",
    message: "the stream ended without a finish event; the answer is incomplete",
  });
}

// A client in untyped JavaScript may return anything; see `answerProblem`.

export function refuseNoStream(given: object | null | undefined): void {
  const isStream =
    typeof given === "object" &&
    given !== null &&
    (Symbol.asyncIterator in given || Symbol.iterator in given);
  if (!isStream) throw formatError(`the stream is ${show(given)}; expected an async iterable of events`);
}

export function refuseNoEvent(given: ModelEvent | null | undefined): void {
  const isEvent = typeof given === "object" && given !== null && typeof given.type === "string";
  if (!isEvent) throw formatError(`the stream yielded ${show(given)}; expected an event with a type`);
}

function formatError(message: string): ProviderError {
  return new ProviderError({ kind: "FORMAT_ERROR", message });
}
