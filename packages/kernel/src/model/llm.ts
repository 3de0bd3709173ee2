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
  /** It asks the provider to keep what it caches for an hour, which is dearer: a reservation has to count on it. */
  readonly cacheTtl?: "1h" | undefined;
}

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** One model call as plain JSON. Signals and keys go beside it. */
export interface ModelRequest {
  /** Append-only and valid during the call; a layer that edits replaces the list. */
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
  /** Settings of one provider, by its name; others ignore them. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

export type FinishReason = "stop" | "toolCalls" | "length" | "refused" | "filtered" | "other";

export type ModelResponse = {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** Absent when the provider did not say; then the reservation is charged and flagged as estimated. */
  readonly usage?: Usage | undefined;
  /** The model that really answered, where the provider says so. */
  readonly model?: string | undefined;
  readonly id?: string | undefined;
  /** It came from a cache: nothing was paid. */
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

/** What a call gets beside its request. Plain fields: a model that wraps another may spread them. */
export interface CallOptions {
  readonly signal?: AbortSignalLike | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A language model. It never retries by itself: each attempt is reserved and paid for by whoever calls. */
export interface LLMClient {
  readonly id: string;
  readonly info: ModelInfo;
  /** A failure throws, best a `ProviderError`. */
  generate(request: ModelRequest, options?: CallOptions): Promise<ModelResponse>;
  /** Contract: any events, then exactly one `finish` with the whole response. A failure throws; nothing follows it. */
  stream?(request: ModelRequest, options?: CallOptions): AsyncIterable<ModelEvent>;
}
