import { ProviderError } from "../errors/errors.ts";
import { show } from "../errors/show.ts";
import type { ModelEvent, ModelResponse } from "../model/llm.ts";

/**
 * Hands each delta to `sink` and gives the response. A stream that ends without `finish`, or gives what is no event, is a failure of the
 * provider's, not an answer: whether it was paid for is not known.
 */
export async function readStream(
  events: AsyncIterable<ModelEvent>,
  sink: (event: Exclude<ModelEvent, { type: "finish" }>) => void,
): Promise<ModelResponse> {
  if (!isStream(events)) throw noStream(events);
  for await (const event of events) {
    if (!isEvent(event)) throw noEvent(event);
    if (event.type === "finish") return event.response;
    sink(event);
  }
  throw new ProviderError({
    kind: "SERVER_ERROR",
    message: "the stream ended before its finish event; the answer is incomplete",
  });
}

// A client that was not compiled may give anything.

function isStream(given: object | null | undefined): boolean {
  return (
    typeof given === "object" && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given)
  );
}

function noStream(given: unknown): ProviderError {
  const message = `the stream is ${show(given)}; expected an async iterable of events`;
  return new ProviderError({ kind: "FORMAT_ERROR", message });
}

function isEvent(given: ModelEvent | null | undefined): boolean {
  return typeof given === "object" && given !== null && typeof given.type === "string";
}

function noEvent(given: unknown): ProviderError {
  const message = `the stream gave ${show(given)}; expected an event with a type`;
  return new ProviderError({ kind: "FORMAT_ERROR", message });
}
