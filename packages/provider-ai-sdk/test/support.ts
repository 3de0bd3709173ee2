import type { JsonObject, LLMClient, Logger, ModelEvent, ModelRequest, ModelResponse } from "@ravi/kernel";
import type { AiSdkModel } from "../src/index.ts";

type Options = Parameters<AiSdkModel["doGenerate"]>[0];

export interface FixedModel extends AiSdkModel {
  /** The options of each call. */
  readonly seen: readonly Options[];
}

export interface FixedAnswer {
  readonly version?: AiSdkModel["specificationVersion"];
  readonly provider?: string;
  readonly supportedUrls?: AiSdkModel["supportedUrls"];
  readonly result?: object | (() => object);
  readonly parts?: readonly object[];
  readonly closes?: boolean;
}

export const USAGE = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
export const STOP = { unified: "stop", raw: "stop" };
export const FINISH = { type: "finish", finishReason: STOP, usage: USAGE };

/** A model that always gives the same, and keeps what it was asked. */
export function fixedModel(answer: FixedAnswer = {}): FixedModel {
  const { version = "v4", provider = "test.api", supportedUrls = {}, closes = true } = answer;
  const seen: Options[] = [];
  return {
    specificationVersion: version,
    provider,
    modelId: "small",
    supportedUrls,
    seen,
    async doGenerate(options) {
      seen.push(options);
      const { result = { content: [{ type: "text", text: "ok" }], finishReason: STOP, usage: USAGE } } =
        answer;
      return typeof result === "function" ? Reflect.apply(result, undefined, []) : result;
    },
    async doStream(options) {
      seen.push(options);
      const stream = new ReadableStream<unknown>({
        start(controller) {
          for (const part of answer.parts ?? []) controller.enqueue(part);
          if (closes) controller.close();
        },
      });
      return { stream };
    },
  };
}

export function ask(text: string, more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [{ role: "user", content: text }], ...more };
}

export async function streamed(
  client: LLMClient,
  request = ask("go"),
): Promise<{ events: readonly ModelEvent[]; response: ModelResponse }> {
  const events: ModelEvent[] = [];
  for await (const event of client.stream?.(request) ?? []) events.push(event);
  const last = events.at(-1);
  if (last?.type !== "finish") throw new Error("there was no finish");
  return { events, response: last.response };
}

export async function failureOf(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

export interface Noted extends Logger {
  readonly notes: readonly (readonly [string, JsonObject | undefined])[];
}

/** A logger that keeps its warnings, and takes nothing else. */
export function notingLogger(): Noted {
  const notes: [string, JsonObject | undefined][] = [];
  const unexpected = (message: string): never => {
    throw new Error(`not a warning: ${message}`);
  };
  return {
    notes,
    debug: unexpected,
    info: unexpected,
    error: unexpected,
    warn: (message, fields) => {
      notes.push([message, fields]);
    },
  };
}
