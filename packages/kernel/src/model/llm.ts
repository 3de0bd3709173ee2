import type { JsonObject } from "../core/json.ts";
import type { AbortSignalLike } from "../core/types.ts";
import type { AssistantMessage, ChatMessage } from "./messages.ts";
import type { JsonSchema } from "./schema.ts";
import type { Usage } from "./usage.ts";

/** What is known of a model before it is called. */
export interface ModelInfo {
  readonly provider: string;
  readonly model: string;
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Set if the client asks the provider to cache for an hour. That is more expensive, and is counted in reservations. */
  readonly cacheTtl?: "1h" | undefined;
}

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** One model call as plain JSON. What is not JSON is in `CallOptions`. */
export interface ModelRequest {
  /** The list may grow after the call. To change a request, replace the list. */
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolSpec[] | undefined;
  readonly toolChoice?: "auto" | "none" | "required" | { readonly name: string } | undefined;
  /** The shape that the answer must have. */
  readonly output?: { readonly name: string; readonly schema: JsonSchema } | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly reasoning?:
    | {
        readonly effort?: "minimal" | "low" | "medium" | "high" | undefined;
        readonly summary?: boolean | undefined;
      }
    | undefined;
  /** Settings for single providers, by their names. Other providers ignore them. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

export type FinishReason = "stop" | "toolCalls" | "length" | "refused" | "filtered" | "other";

export type ModelResponse = {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** Absent if the provider did not report it. Then the reservation is charged and marked as estimated. */
  readonly usage?: Usage | undefined;
  /** The model that has answered, if the provider tells. */
  readonly model?: string | undefined;
  readonly id?: string | undefined;
  /** True if it came from a cache, so that nothing was paid. */
  readonly cached?: boolean | undefined;
};

export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "reasoning"; readonly delta: string }
  | {
      readonly type: "toolCall";
      /** Which call of the answer; the first event of a call carries its id and name. */
      readonly index: number;
      readonly id?: string | undefined;
      readonly name?: string | undefined;
      readonly delta: string;
    }
  | { readonly type: "finish"; readonly response: ModelResponse };

/** What a call gets beside its request. They are plain fields, so a client that wraps another may spread them. */
export interface CallOptions {
  readonly signal?: AbortSignalLike | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A language model. It must not retry by itself, because each attempt is reserved and paid for by the caller. */
export interface LLMClient {
  readonly id: string;
  readonly info: ModelInfo;
  /** Throws if it fails, preferably a `ProviderError`. */
  generate(request: ModelRequest, options?: CallOptions): Promise<ModelResponse>;
  /** Yields events, and at the end exactly one `finish` with the whole response. Throws if it fails. */
  stream?(request: ModelRequest, options?: CallOptions): AsyncIterable<ModelEvent>;
}
