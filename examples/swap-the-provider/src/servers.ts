import { type ChatMessage, type ModelRequest, textOf } from "@ravi/kernel";
import { type Answer, loopbackAnthropic, loopbackOpenAI, type LoopbackServer } from "@ravi/testing";

/** The addresses of the servers. */
export interface Place {
  readonly openaiURL: string;
  readonly anthropicURL: string;
  readonly apiKey: string;
}

export interface Servers extends Place, AsyncDisposable {
  readonly openai: LoopbackServer;
  readonly anthropic: LoopbackServer;
  close(): Promise<void>;
}

const CITIES = ["Oslo", "Lisbon", "Cairo"];

/**
 * Stand-ins for the providers on this machine, so that the program runs without keys. They speak the real protocols and are as
 * strict about a conversation as the real ones: calls without results, and reasoning of another provider, are refused.
 */
export async function startServers(): Promise<Servers> {
  const apiKey = "sk-example-0123456789";
  const openai = await loopbackOpenAI({ script: pretend, requireKey: apiKey });
  const anthropic = await loopbackAnthropic({ script: pretend, requireKey: apiKey });
  const close = async (): Promise<void> => {
    await openai.close();
    await anthropic.close();
  };
  return {
    openai,
    anthropic,
    apiKey,
    openaiURL: openai.url,
    anthropicURL: anthropic.url,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Thinks, looks up every city of the last question, and answers with what it found. */
function pretend({ messages }: ModelRequest): Answer {
  const start = messages.findLastIndex(({ role }) => role === "user");
  const question = textOf(messages[start] ?? { content: "" });
  const found = messages.slice(start).filter(({ role }) => role === "tool");
  if (found.length > 0)
    return {
      reasoning: "That settles it.",
      text: `So it is ${found.map(textOf).join(", and ")}: pack for that.`,
    };
  const cities = CITIES.filter((city) => question.includes(city));
  return {
    reasoning: `The question is about ${cities.join(" and ")}.`,
    text: "Let me see.",
    toolCalls: cities.map((city) => ({ name: "forecast", arguments: { city }, id: idOf(city, messages) })),
  };
}

/** Each turn has its own ids, as with real servers. */
function idOf(city: string, messages: readonly ChatMessage[]): string {
  return `call_${city}_${messages.length}`;
}
