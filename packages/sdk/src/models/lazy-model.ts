import type { CallOptions, LLMClient, ModelEvent, ModelInfo, ModelRequest } from "@ravi/kernel";

/**
 * A model whose provider is loaded by its first call: an agent can be defined, and its cost estimated, without the provider's
 * client, its 200 ms and its key. It streams as the model behind it does; all of them can.
 */
export function lazyModel(id: string, info: ModelInfo, load: () => Promise<LLMClient>): LLMClient {
  let loading: Promise<LLMClient> | undefined;
  const model = (): Promise<LLMClient> => {
    loading ??= load().catch((error: unknown) => {
      // The next call tries again: what was missing may be there by then.
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
