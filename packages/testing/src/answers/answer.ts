import type { FinishReason, JsonObject, Usage } from "@ravi/kernel";

/** A scripted answer: the final text, an answer in parts, or an error to fail with. */
export type Answer = string | AnswerParts | Error;

/** An answer in parts. Everything is optional; the default is an empty text. */
export interface AnswerParts {
  readonly text?: string | undefined;
  /** Reasoning, which comes before the text. Chat Completions has no field for it; there it is sent as `reasoning_content`. */
  readonly reasoning?: string | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  /** Counts that are left out are estimated. `null`: the answer does not report usage. */
  readonly usage?: Partial<Usage> | null | undefined;
  /** Default: `toolCalls` if there are any, else `stop`. */
  readonly finishReason?: FinishReason | undefined;
  /** Milliseconds before the first byte. Default: 0. */
  readonly delayMs?: number | undefined;
  /** Milliseconds between two pieces of a stream. Default: 0. */
  readonly chunkDelayMs?: number | undefined;
  /**
   * Fail with this error instead, after the delay. Over HTTP a `ProviderError` keeps its status, if it is one from 300 to 599, and
   * else gets that of its kind; any other error is a 500.
   */
  readonly error?: Error | undefined;
  /** Break the answer in this way. */
  readonly fault?: AnswerFault | undefined;
  /** The id of the answer. Default: numbered. */
  readonly id?: string | undefined;
  /** The model that the answer names. Default: the one that was asked for. */
  readonly model?: string | undefined;
}

/** A tool call in an answer. */
export interface ScriptedToolCall {
  readonly name: string;
  /** An object, or a string that is sent as it is, so that it can be broken JSON. Default: `{}`. */
  readonly arguments?: JsonObject | string | undefined;
  /** Default: `call_0`, `call_1`, … in each answer. They repeat from answer to answer, as some servers do. */
  readonly id?: string | undefined;
}

/** How an answer breaks. A delta is one piece of text, reasoning or tool arguments; an answer that is not streamed has none. */
export type AnswerFault =
  /** Stops sending until the caller gives up: from the start, or after so many deltas (with 0, the headers still come). */
  | { readonly type: "hang"; readonly afterDeltas?: number | undefined }
  /**
   * Breaks off after so many deltas (default: 1). With an error, the stream first reports it; without, the connection just
   * drops.
   */
  | { readonly type: "cut"; readonly afterDeltas?: number | undefined; readonly error?: Error | undefined }
  /** Sends all deltas, then ends the stream normally but without a finish. */
  | { readonly type: "unfinished" }
  /** Refuses with this HTTP status, from 300 to 599. Never billed. */
  | {
      readonly type: "status";
      readonly status: number;
      readonly message?: string | undefined;
      readonly code?: string | undefined;
      /** Such as `{ "retry-after": "2" }`. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
    }
  /** Status 200 with a body that is not an answer. Default: JSON that is cut off. */
  | {
      readonly type: "malformed";
      readonly body?: string | undefined;
      readonly contentType?: string | undefined;
    };
