import { type ChatMessage, textOf } from "@ravi/kernel";
import { type Answer, loopbackOpenAI, type LoopbackServer } from "@ravi/testing";

const BETWEEN_WORDS_MS = 15;
const MOST = 10_000;

/** A server that answers from a script. Its answers depend on what it is really sent. */
export function startStandIn(): Promise<LoopbackServer> {
  return loopbackOpenAI({
    script: ({ messages }) => answerTo(messages),
    prices: { input: 0.1, output: 0.4 },
  });
}

function answerTo(messages: readonly ChatMessage[]): Answer {
  const last = messages.at(-1);
  const text = last === undefined ? "" : textOf(last);
  if (last?.role === "tool") return `It is ${text}.`;
  if (text.startsWith("<transcript>")) return "They talked about this and that.";
  const count = /count to (\d{1,5})/i.exec(text)?.[1];
  if (count !== undefined) {
    const numbers = Array.from({ length: Math.min(Number(count), MOST) }, (_, n) => n + 1);
    return { text: numbers.join(" "), chunkDelayMs: BETWEEN_WORDS_MS };
  }
  if (/\btime\b/i.test(text)) return { toolCalls: [{ name: "clock", arguments: {} }] };
  const said = messages.filter(({ role }) => role === "user").map((message) => textOf(message));
  const before = said.at(-2);
  const memory =
    before === undefined ? "It is the first thing that you said." : `Before that you said "${before}".`;
  return { text: `You said "${text}". ${memory}`, chunkDelayMs: 1 };
}
