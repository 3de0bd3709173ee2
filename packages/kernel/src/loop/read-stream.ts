import { ProviderError } from "../errors/errors.ts";
import type { ModelEvent, ModelResponse } from "../model/llm.ts";

/** Hands each delta to `sink` and gives the response. A stream that ends without `finish` is a failure, not an answer. */
export async function readStream(
  events: AsyncIterable<ModelEvent>,
  sink: (event: Exclude<ModelEvent, { type: "finish" }>) => void,
): Promise<ModelResponse> {
  for await (const event of events) {
    if (event.type === "finish") return event.response;
    sink(event);
  }
  throw new ProviderError({
    kind: "SERVER_ERROR",
    message: "the stream ended before its finish event; the answer is incomplete",
  });
}
