import type { CallOptions, LLMClient, ModelEvent, ModelInfo, ModelRequest } from "@ravi/kernel";

/**
 * A model that loads its provider at the first call. An agent can thus be defined, and its cost estimated, without the
 * provider's client, the 200 ms to load it, and an API key. `stream` exists always; if the loaded model cannot stream, its
 * whole answer is one event.
 */
export function lazyModel(id: string, info: ModelInfo, load: () => Promise<LLMClient>): LLMClient {
  let loading: Promise<LLMClient> | undefined;
  const model = (): Promise<LLMClient> => {
    loading ??= load().catch((error: unknown) => {
      // Not cached: the next call tries again, because what was missing may be installed or set by then.
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return Object.freeze({
    id,
    info: Object.freeze(info),
    generate: async (request: ModelRequest, options?: CallOptions) =>
      (await model()).generate(request, options),
    async *stream(request: ModelRequest, options?: CallOptions): AsyncGenerator<ModelEvent, void> {
      const client = await model();
      if (client.stream === undefined)
        yield { type: "finish", response: await client.generate(request, options) };
      else yield* client.stream(request, options);
    },
  });
}
