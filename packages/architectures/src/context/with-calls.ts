import type { LLMClient, ModelEvent } from "@ravi/kernel";

interface Calls {
  readonly generate: LLMClient["generate"];
  /** `make` starts the streamed call. */
  readonly stream: (make: () => AsyncIterable<ModelEvent>) => AsyncIterable<ModelEvent>;
}

/** The same model with wrapped calls. A model that cannot stream still cannot. */
export function withCalls(model: LLMClient, { generate, stream }: Calls): LLMClient {
  const { id, info } = model;
  const inner = model.stream?.bind(model);
  if (inner === undefined) return { id, info, generate };
  return { id, info, generate, stream: (request, options) => stream(() => inner(request, options)) };
}
