import {
  type AgentSession,
  type ChatMessage,
  checkFields,
  InvalidValueError,
  NO_USAGE,
  type StopReason,
  textOf,
} from "@ravi/kernel";
import { checkText, withoutThoughts } from "@ravi/kernel/loop";

export interface FreshSessionOptions {
  /** Any id, such as the `execId` of the run. */
  readonly id: string;
  /** The system prompt. Default: none. */
  readonly instructions?: string | undefined;
  /** An earlier conversation to continue. Default: none. */
  readonly messages?: readonly ChatMessage[] | undefined;
}

/** The state of a run that has not begun. If a strategy runs on it again, the new prompt is appended to its messages. */
export function freshSession(options: FreshSessionOptions): AgentSession {
  checkFields("freshSession", options, ["id", "instructions", "messages"]);
  const { id, instructions = "", messages = [] } = options;
  for (const [name, value] of Object.entries({ id, instructions })) checkText(`freshSession.${name}`, value);
  if (!Array.isArray(messages))
    throw new InvalidValueError({
      field: "freshSession.messages",
      value: messages,
      expected: "an array of messages",
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

/** Marks a session as cut off. Only the first reason counts: later ones follow from it. */
export function interrupt(session: AgentSession, reason: StopReason, problem?: string): void {
  if (session.interrupted) return;
  session.interrupted = true;
  session.interruptionReason = reason;
  if (problem !== undefined) session.metadata["problem"] = problem;
}

/** What the model said in a message, without the thoughts that some servers leave in front of it. Empty if it is somebody else's. */
export function saidIn(message: ChatMessage): string {
  const text = message.role === "assistant" ? withoutThoughts(textOf(message)) : "";
  return text.trim() === "" ? "" : text;
}

/** The conversation without tool calls and results: some providers refuse them in a request that offers no tools. */
export function withoutToolCalls(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.flatMap((message): ChatMessage[] => {
    if (message.role === "tool") return [];
    if (message.role !== "assistant" || message.toolCalls === undefined) return [message];
    const text = textOf(message);
    return text.trim() === "" ? [] : [{ role: "assistant", content: text }];
  });
}
