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

/** The events of a session and their payloads, in the order of a turn. */
export interface SessionEvents {
  /** The first event of a turn, with the user's text as it came. */
  input: { readonly text: string; readonly channel: string | null };
  /** The system prompt is built and nothing has been sent yet. */
  before_agent_start: {
    readonly systemPrompt: string;
    readonly input: string;
    readonly channel: string | null;
  };
  /**
   * The conversation so far, without the new message. After an overflow it is emitted again with the whole conversation,
   * compacted.
   */
  context: { readonly messages: readonly ChatMessage[] };
  /** A message was stored. */
  message_end: {
    readonly message: ChatMessage;
    readonly entryId: string;
    readonly usage?: Usage | undefined;
    readonly model?: string | undefined;
  };
  /** The model asked for a tool call, which is not made yet. */
  tool_call: {
    readonly call: ToolCall;
    readonly block?: boolean | undefined;
    readonly reason?: string | undefined;
  };
  /** A tool call has returned. */
  tool_result: {
    readonly call: ToolCall;
    readonly content: Content;
    readonly isError: boolean;
    readonly terminate: boolean;
  };
  /** A model call failed and will be retried, after a wait of `delayMs`. */
  retry_start: {
    readonly attempt: number;
    readonly delayMs: number;
    readonly kind: ErrorKind;
    readonly error: SerializedError;
  };
  /** Whether the model has answered the call that was retried. Emitted when its turn ends, or a later call of it fails. */
  retry_end: { readonly attempt: number; readonly success: boolean };
  /** The turn is over. */
  agent_end: {
    readonly status: "completed" | "partial" | "failed" | "aborted";
    readonly output: string;
    readonly error?: SerializedError | undefined;
  };
  /** Everything that the turn wrote is in the store. */
  save_point: { readonly sessionId: string; readonly leaf: string | null };
  /** A compaction is about to begin. `tokens` is the present size. */
  session_before_compact: {
    readonly messages: readonly ChatMessage[];
    readonly reason: CompactionReason;
    readonly tokens: number;
    readonly cancel?: boolean | undefined;
  };
  /** A compaction was stored. `before` and `after` are estimated tokens. */
  session_compact: {
    readonly entryId: string;
    readonly strategy: string;
    readonly before: number;
    readonly after: number;
  };
  /** The turn is over and no message is queued. */
  settled: { readonly sessionId: string };
}

export type SessionEventName = keyof SessionEvents;

const IS_EVENT: Readonly<Record<SessionEventName, true>> = {
  input: true,
  before_agent_start: true,
  context: true,
  message_end: true,
  tool_call: true,
  tool_result: true,
  retry_start: true,
  retry_end: true,
  agent_end: true,
  save_point: true,
  session_before_compact: true,
  session_compact: true,
  settled: true,
};
export const SESSION_EVENTS: readonly string[] = Object.keys(IS_EVENT);

/** Why a session is compacted: on request, because it is nearly full, or because a model call was too long. */
export type CompactionReason = "asked" | "threshold" | "overflow";

/**
 * What the handler of an event may return; absent fields change nothing. Each handler gets the event as the handlers before it
 * have changed it.
 */
export interface SessionEventResults {
  input: { readonly text?: string | undefined };
  before_agent_start: { readonly systemPrompt?: string | undefined };
  context: { readonly messages?: readonly ChatMessage[] | undefined };
  /** A blocked call is not made; the model gets the reason as an error. */
  tool_call: { readonly block?: boolean | undefined; readonly reason?: string | undefined };
  /** `terminate`: no further model call is needed. It takes effect only if all calls of the batch set it. */
  tool_result: {
    readonly content?: Content | undefined;
    readonly isError?: boolean | undefined;
    readonly terminate?: boolean | undefined;
  };
  /** `messages` is what the model sees from now on, instead of the strategy's result. `cancel`: do not compact. */
  session_before_compact: {
    readonly cancel?: boolean | undefined;
    readonly messages?: readonly ChatMessage[] | undefined;
  };
}

/** What `events()` yields: the events of the session, and those of the loop such as streamed text. */
export type SessionEvent =
  | { readonly [E in SessionEventName]: { readonly type: E } & SessionEvents[E] }[SessionEventName]
  | AgentEvent;

/** Emits an event and returns it as the handlers have changed it. */
export type Emit = <E extends SessionEventName>(
  name: E,
  event: SessionEvents[E],
) => Promise<SessionEvents[E]>;
