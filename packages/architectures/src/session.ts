import {
  type AgentSession,
  type ChatMessage,
  checkFields,
  InvalidValueError,
  NO_USAGE,
  type StopReason,
  textOf,
} from "@ravi/kernel";

export interface FreshSessionOptions {
  readonly id: string;
  readonly instructions?: string | undefined;
  /** A conversation that goes on. */
  readonly messages?: readonly ChatMessage[] | undefined;
}

/** The state of a run that has not begun. Run again on it, a strategy appends the new prompt to what is there. */
export function freshSession(options: FreshSessionOptions): AgentSession {
  checkFields("freshSession", options, ["id", "instructions", "messages"]);
  const { id, instructions = "", messages = [] } = options;
  for (const [name, value] of Object.entries({ id, instructions }))
    if (typeof value !== "string")
      throw new InvalidValueError({ field: `freshSession.${name}`, value, expected: "a text" });
  if (!Array.isArray(messages))
    throw new InvalidValueError({
      field: "freshSession.messages",
      value: messages,
      expected: "a list of messages",
    });
  return {
    id,
    instructions,
    messages: [...(messages as readonly ChatMessage[])],
    turns: 0,
    output: "",
    cumulativeUsage: NO_USAGE,
    interrupted: false,
    interruptionReason: null,
    metadata: {},
  };
}

/** Marks a session as cut off. The first reason counts: what follows from it is no reason of its own. */
export function interrupt(session: AgentSession, reason: StopReason): void {
  if (session.interrupted) return;
  session.interrupted = true;
  session.interruptionReason = reason;
}

/** A conversation without its tools: some providers refuse calls and results in a request that offers none. */
export function talkOf(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.flatMap((message): ChatMessage[] => {
    if (message.role === "tool") return [];
    if (message.role !== "assistant" || message.toolCalls === undefined) return [message];
    const text = textOf(message);
    return text.trim() === "" ? [] : [{ role: "assistant", content: text }];
  });
}
