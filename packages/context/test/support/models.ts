import type { CompactionContext, LLMClient, ModelRequest, ModelResponse } from "@ravi/kernel";

export const writer: LLMClient = {
  id: "fake/writer",
  info: { provider: "fake", model: "writer" },
  generate: () => Promise.reject(new Error("called past the context")),
};

export interface RecordingContext extends CompactionContext {
  readonly requests: ModelRequest[];
  llm(model: LLMClient, request: ModelRequest): Promise<ModelResponse>;
}

/** A context as a run hands it over: it keeps what was asked, and answers `notes 1`, `notes 2`, … unless told otherwise. */
export function recordingContext(
  more: CompactionContext = {},
  answer?: (call: number) => Partial<ModelResponse> & { text?: string },
): RecordingContext {
  const requests: ModelRequest[] = [];
  return {
    ...more,
    requests,
    llm: (_model, request) => {
      requests.push(request);
      const { text, ...rest } = answer?.(requests.length) ?? {};
      const message = { role: "assistant", content: text ?? `notes ${requests.length}` } as const;
      return Promise.resolve({ message, finishReason: "stop", ...rest });
    },
  };
}
