import type {
  AgentEvent,
  ChatMessage,
  ContentPart,
  ErrorKind,
  SerializedError,
  ToolCall,
  Usage,
} from "@ravi/kernel";

type Content = string | readonly ContentPart[];

/** What happens in a session, in the order of a turn. */
export interface SessionEvents {
  /** Before anything else: the user's text as it came. */
  input: { readonly text: string; readonly channel: string | null };
  before_agent_start: {
    readonly systemPrompt: string;
    readonly input: string;
    readonly channel: string | null;
  };
  /** The conversation so far, without the new message; after an overflow once more, all of it and shorter. */
  context: { readonly messages: readonly ChatMessage[] };
  /** A message was written. */
  message_end: {
    readonly message: ChatMessage;
    readonly entryId: string;
    readonly usage?: Usage | undefined;
    readonly model?: string | undefined;
  };
  tool_call: {
    readonly call: ToolCall;
    readonly block?: boolean | undefined;
    readonly reason?: string | undefined;
  };
  tool_result: {
    readonly call: ToolCall;
    readonly content: Content;
    readonly isError: boolean;
    readonly terminate: boolean;
  };
  /** Before each retry, and before the wait for it. */
  retry_start: {
    readonly attempt: number;
    readonly delayMs: number;
    readonly kind: ErrorKind;
    readonly error: SerializedError;
  };
  retry_end: { readonly attempt: number; readonly success: boolean };
  agent_end: {
    readonly status: "completed" | "partial" | "failed" | "aborted";
    readonly output: string;
    readonly error?: SerializedError | undefined;
  };
  /** All that the turn wrote is on the disk. */
  save_point: { readonly sessionId: string; readonly leaf: string | null };
  session_before_compact: {
    readonly messages: readonly ChatMessage[];
    readonly reason: CompactionReason;
    readonly tokens: number;
    readonly cancel?: boolean | undefined;
  };
  session_compact: {
    readonly entryId: string;
    readonly strategy: string;
    readonly before: number;
    readonly after: number;
  };
  /** The turn is over, and nothing is queued. */
  settled: { readonly sessionId: string };
}

export type SessionEventName = keyof SessionEvents;
export type CompactionReason = "asked" | "threshold" | "overflow";

/** What a handler may give back. Each handler sees what those before it have made of the event. */
export interface SessionEventResults {
  input: { readonly text?: string | undefined };
  before_agent_start: { readonly systemPrompt?: string | undefined };
  context: { readonly messages?: readonly ChatMessage[] | undefined };
  /** A blocked call is not made; the model gets the reason as an error. */
  tool_call: { readonly block?: boolean | undefined; readonly reason?: string | undefined };
  /** `terminate`: no further model call is needed, if all calls of the batch say so. */
  tool_result: {
    readonly content?: Content | undefined;
    readonly isError?: boolean | undefined;
    readonly terminate?: boolean | undefined;
  };
  /** `messages` are what the model sees from now on, in place of what the strategy would make. */
  session_before_compact: {
    readonly cancel?: boolean | undefined;
    readonly messages?: readonly ChatMessage[] | undefined;
  };
}

/** What `events()` gives: the session's own events, and what the loop tells while it works. */
export type SessionEvent =
  | { readonly [E in SessionEventName]: { readonly type: E } & SessionEvents[E] }[SessionEventName]
  | AgentEvent;

/** Tells, and gives what was made of the event. */
export type Emit = <E extends SessionEventName>(
  name: E,
  event: SessionEvents[E],
) => Promise<SessionEvents[E]>;
