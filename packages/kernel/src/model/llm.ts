import type { JsonObject } from "../core/json.ts";
import type { AbortSignalLike } from "../core/types.ts";
import type { AssistantMessage, ChatMessage } from "./messages.ts";
import type { JsonSchema } from "./schema.ts";
import type { Usage } from "./usage.ts";

/** What is known about a model before it is called. */
export interface ModelInfo {
  readonly provider: string;
  readonly model: string;
  /** In tokens. */
  readonly contextWindow?: number | undefined;
  readonly maxOutputTokens?: number | undefined;
  /** Set if the client asks the provider to cache for an hour. That costs more, and the reservation has to include it. */
  readonly cacheTtl?: "1h" | undefined;
}

/** A tool as the model sees it: name, description and JSON Schema of its arguments. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

/** One model call, as plain JSON. The signal and the idempotency key are in `CallOptions`. */
export interface ModelRequest {
  /**
   * The conversation. The loop may append to this list after the call, so copy it if you keep it. Middleware must not change it,
   * but pass on a new list.
   */
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly ToolSpec[] | undefined;
  readonly toolChoice?: "auto" | "none" | "required" | { readonly name: string } | undefined;
  /** The JSON Schema that the answer must have. */
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
  /** Settings for one provider, by its name (`openai`, `anthropic`, …). Other providers ignore them. */
  readonly providerOptions?: Readonly<Record<string, JsonObject>> | undefined;
}

/** Why the model stopped. `length` means that the answer was cut off at a limit. */
export type FinishReason = "stop" | "toolCalls" | "length" | "refused" | "filtered" | "other";

/** The answer of a model call. */
export type ModelResponse = {
  readonly message: AssistantMessage;
  readonly finishReason: FinishReason;
  /** Absent if the provider did not report it. Then the reserved amount is charged and marked as estimated. */
  readonly usage?: Usage | undefined;
  /** The model that really answered, if the provider says so. */
  readonly model?: string | undefined;
  readonly id?: string | undefined;
  /** True if the answer came from a cache and nothing was paid. */
  readonly cached?: boolean | undefined;
};

/** A piece of a streamed answer. */
export type ModelEvent =
  | { readonly type: "text"; readonly delta: string }
  | { readonly type: "reasoning"; readonly delta: string }
  | {
      readonly type: "toolCall";
      /** The position of the call in the answer. The first event of a call has its id and name. */
      readonly index: number;
      readonly id?: string | undefined;
      readonly name?: string | undefined;
      readonly delta: string;
    }
  | { readonly type: "finish"; readonly response: ModelResponse };

/** What a call gets besides its request. Plain fields, so that a client that wraps another can spread them. */
export interface CallOptions {
  readonly signal?: AbortSignalLike | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** A language model. It must not retry on its own: the caller reserves budget and pays for each attempt. */
export interface LLMClient {
  readonly id: string;
  readonly info: ModelInfo;
  /** Makes one call. If it fails it throws, preferably a `ProviderError`. */
  generate(request: ModelRequest, options?: CallOptions): Promise<ModelResponse>;
  /**
   * Like `generate`, in pieces. Yields any number of events, then exactly one `finish` with the whole response. If it fails it
   * throws, and yields nothing after that.
   */
  stream?(request: ModelRequest, options?: CallOptions): AsyncIterable<ModelEvent>;
}
