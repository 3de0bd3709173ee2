import { APICallError } from "@ai-sdk/provider";
import {
  type ContentPart,
  isCancellation,
  isRaviError,
  type ModelEvent,
  type ModelResponse,
  type Usage,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import type { ModelSetup } from "@ravi/testing/suites";
import type { AiSdkModel } from "../src/index.ts";
import { readOptions } from "./read-options.ts";

type Version = AiSdkModel["specificationVersion"];
type Options = Parameters<AiSdkModel["doGenerate"]>[0];

/**
 * A model of the given version that answers from a script, as a provider of the AI SDK would: it takes the options apart by
 * the words of its version, refuses others, and writes its parts, usage and finish reasons as that version has them.
 */
export function handMadeModel(
  version: Version,
  { script, apiKey }: Pick<ModelSetup, "script" | "apiKey">,
): AiSdkModel {
  if (typeof script !== "function") throw new TypeError("the suite hands over functions");
  const inside = (options: Options, gone: AbortController) => {
    const idempotencyKey = options.headers?.["idempotency-key"];
    const call = { signal: gone.signal, idempotencyKey };
    return {
      request: readOptions(options, version),
      model: scriptedModel((request) => script(request, call), { record: false }),
    };
  };
  const failed = (error: unknown, options: Options): unknown => {
    if (isCancellation(error)) return new DOMException("This operation was aborted", "AbortError");
    const cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
    if (!isRaviError(error, "PROVIDER_ERROR") || error.status === undefined)
      return new TypeError("terminated", { cause });
    const { status, retryAfterMs, message } = error;
    return new APICallError({
      message,
      url: `https://models.example/v1?key=${apiKey}`,
      requestBodyValues: options,
      statusCode: status,
      responseHeaders: retryAfterMs === undefined ? {} : { "Retry-After": String(retryAfterMs / 1_000) },
      responseBody: JSON.stringify({ error: { message, key: apiKey } }),
    });
  };

  return {
    specificationVersion: version,
    provider: "hand-made",
    modelId: version,
    supportedUrls: {},
    async doGenerate(options) {
      const gone = new AbortController();
      const { model, request } = inside(options, gone);
      options.abortSignal?.addEventListener("abort", () => gone.abort());
      try {
        const response = await model.generate(request, { signal: options.abortSignal });
        return { ...resultOf(response, version), warnings: [] };
      } catch (error) {
        throw failed(error, options);
      }
    },
    async doStream(options) {
      const gone = new AbortController();
      const { model, request } = inside(options, gone);
      options.abortSignal?.addEventListener("abort", () => gone.abort());
      const events = model.stream(request, { signal: options.abortSignal })[Symbol.asyncIterator]();
      const ids: string[] = [];
      const stream = new ReadableStream<unknown>({
        start: (controller) => controller.enqueue({ type: "stream-start", warnings: [] }),
        async pull(controller) {
          try {
            const { done, value } = await events.next();
            if (done === true) controller.close();
            else for (const part of partsOf(value, version, ids)) controller.enqueue(part);
          } catch (error) {
            controller.error(failed(error, options));
          }
        },
        cancel: () => gone.abort(),
      });
      return { stream };
    },
  };
}

function resultOf(response: ModelResponse, version: Version): object {
  const { content, toolCalls = [] } = response.message;
  const parts: readonly ContentPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : content;
  return {
    content: [...parts, ...toolCalls.map((call) => ({ type: "tool-call", ...callOf(call) }))],
    finishReason: finishOf(response, version),
    usage: usageOf(response.usage, version),
    response: { id: response.id, modelId: version },
  };
}

function callOf({
  id,
  name,
  arguments: input,
}: NonNullable<ModelResponse["message"]["toolCalls"]>[number]): object {
  return { toolCallId: id, toolName: name, input };
}

/** `ids` keeps the ids of the calls that were opened: later pieces only have a number. */
function partsOf(event: ModelEvent, version: Version, ids: string[]): readonly object[] {
  switch (event.type) {
    case "text":
      return [{ type: "text-delta", id: "t", delta: event.delta }];
    case "reasoning":
      return [{ type: "reasoning-delta", id: "r", delta: event.delta }];
    case "toolCall": {
      const { index, id, name, delta } = event;
      if (id !== undefined) ids.push(id);
      const key = ids[index] ?? "";
      return id === undefined
        ? [{ type: "tool-input-delta", id: key, delta }]
        : [{ type: "tool-input-start", id: key, toolName: name }];
    }
    default: {
      const { response } = event;
      return [
        ...(response.message.toolCalls ?? []).map((call) => ({ type: "tool-call", ...callOf(call) })),
        { type: "response-metadata", id: response.id, modelId: version },
        {
          type: "finish",
          finishReason: finishOf(response, version),
          usage: usageOf(response.usage, version),
        },
      ];
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  toolCalls: "tool-calls",
  filtered: "content-filter",
  refused: "content-filter",
};

function finishOf({ finishReason }: ModelResponse, version: Version): unknown {
  const unified = REASONS[finishReason] ?? finishReason;
  return version === "v2" ? unified : { unified, raw: finishReason === "refused" ? "refusal" : finishReason };
}

function usageOf(usage: Usage | undefined, version: Version): object {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage ?? {};
  if (version === "v2")
    return { inputTokens, outputTokens, totalTokens: undefined, cachedInputTokens, reasoningTokens };
  return {
    inputTokens: { total: inputTokens, cacheRead: cachedInputTokens, cacheWrite: usage?.cacheWriteTokens },
    outputTokens: { total: outputTokens, reasoning: reasoningTokens },
  };
}
