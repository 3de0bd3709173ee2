import type { ModelEvent, ToolCall, ToolSpec } from "@ravi/kernel";
import { expect } from "vitest";
import type { ScriptedToolCall } from "../../answers/answer.ts";
import { ask, type ModelCase, readStream, waysOf } from "./stage.ts";

export const SEARCH: ToolSpec = {
  name: "search",
  description: "Looks something up.",
  parameters: {
    type: "object",
    properties: { query: { type: "string" } },
    required: ["query"],
    additionalProperties: false,
  },
};

const NESTED = String.raw`{"query":"a\n\"quoted\" \\ 東京 👩‍👩‍👧‍👦","filters":[{"from":-1.5e-7,"to":null},[],{},[[true,false]]],"then":"x"}`;

export const toolCallCases: readonly ModelCase[] = [
  ...[1, 2, 16, 128].map(countCase),
  {
    rule: "T10",
    says: "the ids are the server's",
    needs: ["tools", "callIds"],
    async run(stage) {
      const toolCalls = ["call_abc-1", "call_abc-2"].map((id) => ({ id, name: "search", arguments: {} }));
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ toolCalls }]);
        const { message } = await way.call(client, ask("go", { tools: [SEARCH] }));
        expect(message.toolCalls?.map(({ id }) => id)).toEqual(["call_abc-1", "call_abc-2"]);
      }
    },
  },
  ...(
    [
      ["no arguments at all", {}],
      ["nested arguments in many scripts", NESTED],
      ["arguments of 20,000 characters", { query: "long ".repeat(4_000) }],
    ] as const
  ).map(argumentsCase),
  {
    rule: "T10",
    says: "text beside tool calls is kept",
    needs: ["tools"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([
          { text: "I look.", toolCalls: [{ name: "search", arguments: {} }] },
        ]);
        const { message, finishReason } = await way.call(client, ask("go", { tools: [SEARCH] }));
        expect(JSON.stringify(message.content)).toContain("I look.");
        expect(message.toolCalls).toHaveLength(1);
        expect(finishReason).toBe("toolCalls");
      }
    },
  },
  {
    rule: "T10",
    says: "calls that were cut off by length end as length, so that nobody runs half of them",
    needs: ["tools", "length", "cutCalls"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const toolCalls = [{ name: "search", arguments: { query: "half" } }];
        const { client } = await stage.open([{ toolCalls, finishReason: "length" }]);
        expect((await way.call(client, ask("go", { tools: [SEARCH] }))).finishReason).toBe("length");
      }
    },
  },
  {
    rule: "T10",
    says: "the events of a tool call open with id and name, and add up to its arguments",
    needs: ["tools", "streaming"],
    async run(stage) {
      const toolCalls = Array.from({ length: 5 }, (_, n) => ({
        name: "search",
        arguments: { query: `question ${n}` },
      }));
      const { client } = await stage.open([{ text: "I look.", toolCalls }]);
      const { events, response } = await readStream(client, ask("go", { tools: [SEARCH] }));
      const calls = response.message.toolCalls?.map((call) => ({ ...call, opaque: undefined }));
      expect(assembled(events)).toEqual(calls);
    },
  },
];

/** An answer without arguments may have an empty text or an empty object. */
function parsed({ arguments: text }: ToolCall): unknown {
  return text === "" ? {} : JSON.parse(text);
}

/** The calls as a listener would assemble them from events alone. */
function assembled(events: readonly ModelEvent[]): ToolCall[] {
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const event of events) {
    if (event.type !== "toolCall") continue;
    const known = calls[event.index];
    if (known === undefined) {
      expect(event.index).toBe(calls.length);
      expect(event.id).toBeTypeOf("string");
      expect(event.name).toBeTypeOf("string");
      calls.push({ id: event.id ?? "", name: event.name ?? "", arguments: event.delta });
    } else known.arguments += event.delta;
  }
  return calls;
}

function countCase(count: number): ModelCase {
  return {
    rule: "T10",
    says: `${count} tool call${count === 1 ? "" : "s"} come in their order, each with an id of its own`,
    needs: ["tools"],
    async run(stage) {
      const sent = Array.from({ length: count }, (_, n) => ({
        name: "search",
        arguments: { query: `q${n}` },
      }));
      for (const way of waysOf(stage)) {
        const { client } = await stage.open([{ toolCalls: sent }]);
        const response = await way.call(client, ask("go", { tools: [SEARCH] }));
        const calls = response.message.toolCalls ?? [];
        expect(response.finishReason).toBe("toolCalls");
        expect(calls.map(({ name }) => name)).toEqual(sent.map(({ name }) => name));
        expect(calls.map(parsed)).toEqual(sent.map((call) => call.arguments));
        expect(new Set(calls.map(({ id }) => id)).size).toBe(count);
        expect(calls.every(({ id }) => id !== "")).toBe(true);
      }
    },
  };
}

function argumentsCase([what, args]: readonly [
  what: string,
  args: NonNullable<ScriptedToolCall["arguments"]>,
]): ModelCase {
  return {
    rule: "T11",
    says: `${what} arrive whole`,
    needs: ["tools"],
    async run(stage) {
      for (const way of waysOf(stage)) {
        const call: ScriptedToolCall = { name: "search", arguments: args };
        const { client } = await stage.open([{ toolCalls: [call] }]);
        const { message } = await way.call(client, ask("go", { tools: [SEARCH] }));
        expect(message.toolCalls).toHaveLength(1);
        expect(message.toolCalls?.map(parsed)).toEqual([typeof args === "string" ? JSON.parse(args) : args]);
      }
    },
  };
}
