import type { FinishReason, JsonObject, Usage } from "@ravi/kernel";

/** What a script answers: the final text, an answer in parts, or an error to fail with. */
export type Answer = string | AnswerParts | Error;

export interface AnswerParts {
  readonly text?: string | undefined;
  /** Comes before the text. Chat Completions has no field of its own for it; it goes out as `reasoning_content`. */
  readonly reasoning?: string | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  /** Counts that are left out are estimated. `null`: the answer does not say what it used. */
  readonly usage?: Partial<Usage> | null | undefined;
  /** `toolCalls` where there are some, else `stop`. */
  readonly finishReason?: FinishReason | undefined;
  /** How long it takes until the first byte. */
  readonly delayMs?: number | undefined;
  /** How long it takes between two pieces of a stream. */
  readonly chunkDelayMs?: number | undefined;
  /** Fails with this instead, after the delay. Over HTTP a `ProviderError` keeps its status; any other is a 500. */
  readonly error?: Error | undefined;
  readonly fault?: AnswerFault | undefined;
  readonly id?: string | undefined;
  /** The model that says it answered; the one asked for, unless given. */
  readonly model?: string | undefined;
}

export interface ScriptedToolCall {
  readonly name: string;
  /** A string goes out as it is, so that it can be broken JSON. */
  readonly arguments?: JsonObject | string | undefined;
  /** `call_0`, `call_1`, ... within the answer, unless given. Some servers repeat these in each answer, and so does this. */
  readonly id?: string | undefined;
}

/** How an answer goes wrong. A delta is one piece of text, reasoning or tool arguments; an answer that is not streamed has none. */
export type AnswerFault =
  /** Nothing comes any more, until the caller gives up: from the start, or after so many deltas (0: the headers still come). */
  | { readonly type: "hang"; readonly afterDeltas?: number | undefined }
  /** Breaks off after so many deltas (1). With an error the stream says so first; without, the connection just drops. */
  | { readonly type: "cut"; readonly afterDeltas?: number | undefined; readonly error?: Error | undefined }
  /** All deltas come, then the stream ends politely, with no finish. */
  | { readonly type: "unfinished" }
  /** Refused with this HTTP status, from 300 to 599. Never billed. */
  | {
      readonly type: "status";
      readonly status: number;
      readonly message?: string | undefined;
      readonly code?: string | undefined;
      /** For example `{ "retry-after": "2" }`. */
      readonly headers?: Readonly<Record<string, string>> | undefined;
    }
  /** Status 200 with a body that is no answer: JSON that stops short, unless a body is given. */
  | {
      readonly type: "malformed";
      readonly body?: string | undefined;
      readonly contentType?: string | undefined;
    };
