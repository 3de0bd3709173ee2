import { type Agent, agent, type LLMClient, type ModelRequest, textOf, tool } from "@ravi/sdk";
import { type Answer, scriptedModel } from "@ravi/testing";
import * as z from "zod";

const BETWEEN_PIECES_MS = 20;
const MOST = 10_000;

const clock = tool({
  name: "clock",
  description: "Says what time it is.",
  input: z.object({}),
  idempotent: true,
  execute: () => new Date().toLocaleTimeString("en-GB"),
});

/** The tools that somebody has to approve. */
export const NEEDS_APPROVAL: ReadonlySet<string> = new Set(["book_table"]);

const bookTable = tool({
  name: "book_table",
  description: "Books a table at the restaurant.",
  input: z.object({ guests: z.number().int().positive(), time: z.string() }),
  needsApproval: true,
  // A restaurant that is sent the same key twice books one table, so a call that was cut off may be made again.
  idempotent: true,
  execute: ({ guests, time }, { idempotencyKey }) => `booked for ${guests} at ${time} (${idempotencyKey})`,
});

/** The agent that the page talks to. Without a model's name a script stands in for a model. */
export function concierge(model: string | undefined): Agent {
  return agent({
    name: "concierge",
    model: model ?? scripted(),
    instructions: "You are the concierge of a small hotel. Keep your answers short.",
    tools: [clock, bookTable],
  });
}

function scripted(): LLMClient {
  return scriptedModel(answerTo, { record: false });
}

function answerTo({ messages }: ModelRequest): Answer {
  const last = messages.at(-1);
  const text = last === undefined ? "" : textOf(last);
  if (last?.role === "tool") {
    const results = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
    return `Done: ${results.map((message) => textOf(message)).join("; ")}.`;
  }
  const count = /count to (\d{1,5})/i.exec(text)?.[1];
  if (count !== undefined) {
    const numbers = Array.from({ length: Math.min(Number(count), MOST) }, (_, n) => n + 1);
    return { text: numbers.join(" "), chunkDelayMs: BETWEEN_PIECES_MS };
  }
  if (/\btime\b/i.test(text)) return { toolCalls: [{ name: "clock" }] };
  const tables = /\bbook (a|two) tables?/i.exec(text)?.[1];
  if (tables !== undefined) {
    const times = tables === "two" ? ["19:00", "21:00"] : ["19:00"];
    const toolCalls = times.map((time) => ({ name: "book_table", arguments: { guests: 2, time } }));
    return { text: "One moment. ", toolCalls };
  }
  const said = messages.filter(({ role }) => role === "user").map((message) => textOf(message));
  const before = said.at(-2);
  const memory =
    before === undefined ? "It is the first thing that you said." : `Before that you said "${before}".`;
  return { text: `You said "${text}". ${memory}` };
}
