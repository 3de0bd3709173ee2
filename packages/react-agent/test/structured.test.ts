import { describe, expect, expectTypeOf, test } from "vitest";
import type { Agent, AgentResult, JsonSchemaValidator, StandardSchema } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, asks, run, withTurns } from "./support.ts";

const City = z.object({ name: z.string(), people: z.number().int() });
const fine = '{"name":"Bern","people":146000}';
const parsed = { name: "Bern", people: 146000 };
const agentOf = (answers: Parameters<typeof scriptedModel>[0], more: { outputRetries?: number } = {}) => {
  const model = scriptedModel(answers);
  return { model, agent: new ReActAgent({ name: "a", model, output: City, tools: [add], ...more }) };
};

describe("output", () => {
  test("result.structured has the schema's type", async () => {
    const { agent, model } = agentOf([asks("add", { a: 1, b: 2 }), fine]);
    expectTypeOf(agent).toEqualTypeOf<ReActAgent<{ name: string; people: number }>>();
    expectTypeOf(agent).toExtend<Agent<{ name: string; people: number }>>();
    const { result } = await run(agent);
    expectTypeOf(result).toEqualTypeOf<AgentResult<{ name: string; people: number }>>();
    expectTypeOf(result.structured).toEqualTypeOf<{ name: string; people: number } | undefined>();
    expect(result).toEqual({ status: "completed", output: fine, structured: parsed, stopReason: "done" });
    expect(model.calls[0]?.request.output).toEqual({
      name: "answer",
      schema: expect.objectContaining({ type: "object", required: ["name", "people"] }),
    });
    expect(agent.output).toBe(City);
  });

  test("without it, the type is unknown", () => {
    expectTypeOf(new ReActAgent({ name: "a", model: scriptedModel([]) })).toEqualTypeOf<ReActAgent>();
  });

  test("a schema that changes what it reads gives what it makes of it", async () => {
    const output = z.object({ at: z.string().transform((text) => text.length) });
    const agent = new ReActAgent({ name: "a", model: scriptedModel(['{"at":"12:30"}']), output });
    const { result } = await run(agent);
    expectTypeOf(result.structured).toEqualTypeOf<{ at: number } | undefined>();
    expect(result.structured).toEqual({ at: 5 });
  });

  const toDay = (text: string): string => new Date(text).toISOString();
  const Day = z.object({ at: z.string().transform(toDay) });

  test.each([
    ["throws", (value: { at: string }) => ({ value: { at: toDay(value.at) } })],
    ["rejects", async (value: { at: string }) => ({ value: { at: toDay(value.at) } })],
  ])("a schema that %s tells the model what it has said", async (_, validate) => {
    const output: StandardSchema<{ at: string }> = {
      "~standard": { ...Day["~standard"], validate: (value) => validate(value as { at: string }) },
    };
    const model = scriptedModel(['{"at":"soon"}', '{"at":"2026-01-02"}']);
    const { result, ctx } = await run(new ReActAgent({ name: "a", model, output }));
    expect(result).toMatchObject({ status: "completed", structured: { at: "2026-01-02T00:00:00.000Z" } });
    const told = ctx.window().flatMap(({ role, content }) => (role === "user" ? [String(content)] : []));
    expect(told[1]).toMatch(/does not match the required schema: Invalid time value\./);
  });

  test("a transform that throws takes nothing away from an agent that lands", async () => {
    const model = scriptedModel([asks("add", { a: 1, b: 2 }), '{"at":"later"}']);
    const { result } = await run(new ReActAgent({ name: "a", model, output: Day, tools: [add] }), "go", {
      ctx: withTurns(1, { reserve: true }),
    });
    expect(result).toEqual({ status: "partial", output: '{"at":"later"}', stopReason: "budget" });
  });

  test.each([
    ["a fence", `\`\`\`json\n${fine}\n\`\`\``],
    ["a fence without a language", `\`\`\`\n${fine}\n\`\`\``],
    ["a fence between sentences", `Here you are:\n\`\`\`json\n${fine}\n\`\`\`\nAnything else?`],
    ["white space", `\n  ${fine}  \n`],
    ["thoughts that the server left in", `<think>Is it {"name":"x"}?</think>\n${fine}`],
    ["several thoughts", `<think>a</think><thinking>{}</thinking>${fine}`],
    ["thoughts without their beginning", `Is it {"name":"x"}?\n</think>\n\n${fine}`],
    ["thoughts and a fence", `<think>\`\`\`\nhm\n\`\`\`</think>\n\`\`\`json\n${fine}\n\`\`\``],
  ])("%s around the JSON is tolerated", async (_, text) => {
    const { result } = await run(agentOf([text]).agent);
    expect(result.structured).toEqual(parsed);
    expect(result.status).toBe("completed");
    expect(JSON.parse(result.output)).toEqual(parsed);
  });

  const List = z.array(z.string());
  const Choice = z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), n: z.number() }),
    z.object({ kind: z.literal("b"), value: z.string() }),
  ]);
  test.each<[string, z.ZodType, unknown]>([
    ["a list", List, ["x", "y"]],
    ["a text", z.string(), "x"],
    ["nothing or an object", City.nullable(), null],
    ["one of several objects", Choice, { kind: "b", value: "x" }],
  ])(
    "%s is asked for inside of an object, which servers demand, and comes out of it",
    async (_, output, value) => {
      for (const answer of [{ value }, value]) {
        const text = JSON.stringify(answer);
        const model = scriptedModel([text]);
        const { result } = await run(new ReActAgent({ name: "a", model, output }));
        expect(result).toEqual({
          status: "completed",
          output: JSON.stringify(value),
          structured: value,
          stopReason: "done",
        });
        expect(model.calls[0]?.request.output).toEqual({
          name: "answer",
          schema: {
            type: "object",
            properties: { value: expect.any(Object) },
            required: ["value"],
            additionalProperties: false,
          },
        });
      }
    },
  );

  test("of a wrapped answer that does not fit the model is told what is wrong inside", async () => {
    const model = scriptedModel(['{"value":["x",1]}', '{"value":["x"]}']);
    const { result } = await run(new ReActAgent({ name: "a", model, output: List }));
    expect(result.structured).toEqual(["x"]);
    expect(model.calls[1]?.request.messages.at(-1)?.content).toMatch(/required schema: 1: Invalid input/);
  });

  test("a landing gives what is inside too", async () => {
    const model = scriptedModel([asks("add", { a: 1, b: 2 }), '{"value":["x"]}']);
    const agent = new ReActAgent({ name: "a", model, output: List, tools: [add], maxSteps: 1 });
    const { result } = await run(agent);
    expect(result).toEqual({ status: "partial", output: '["x"]', structured: ["x"], stopReason: "steps" });
  });

  test("what a list refers to by its place is found where it has gone", async () => {
    const tree = {
      type: "array",
      items: { type: "object", properties: { below: { $ref: "#" }, kind: { $ref: "#/$defs/kind" } } },
      $defs: { kind: { enum: ["leaf"] } },
    };
    const model = scriptedModel(["[]"]);
    await run(new ReActAgent({ name: "a", model, output: tree, validator: () => [] }));
    expect(model.calls[0]?.request.output?.schema).toMatchObject({
      properties: {
        value: {
          items: { properties: { below: { $ref: "#/properties/value" }, kind: { $ref: "#/$defs/kind" } } },
        },
      },
      $defs: tree.$defs,
    });
  });

  test.each([
    '{"tag":"</think>"}',
    '<think>hm</think>{"tag":"</think>"}',
    'Here you are:\n```json\n{"tag":"</think>"}\n```',
    'hm\n</think>\nHere you are:\n```json\n{"tag":"</think>"}\n```',
  ])("the end of thoughts inside the strings of the JSON stays there: %j", async (text) => {
    const output = z.object({ tag: z.string() });
    const model = scriptedModel([text]);
    const { result } = await run(new ReActAgent({ name: "a", model, output }));
    expect(result.structured).toEqual({ tag: "</think>" });
  });

  test.each(["", "<think>hm</think>", "hm\n</think>\n"])(
    "fences inside the strings of the JSON stay there, after %j too",
    async (thoughts) => {
      const text = `${thoughts}{"open":"\`\`\`",\n"close":"\`\`\`"}`;
      const output = z.object({ open: z.string(), close: z.string() });
      const { result } = await run(new ReActAgent({ name: "a", model: scriptedModel([text]), output }));
      expect(result.structured).toEqual({ open: "```", close: "```" });
    },
  );

  test.each([
    [
      "an object",
      z.object({ name: z.string(), people: z.number().optional() }),
      '{"name":"Bern","people":null}',
    ],
    [
      "a list",
      z.array(z.object({ name: z.string(), people: z.number().optional() })),
      '{"value":[{"name":"Bern","people":null}]}',
    ],
  ])(
    "a null for what may be left out counts as left out, in %s, and is not in the output",
    async (_, output, text) => {
      const { result } = await run(
        new ReActAgent<unknown>({ name: "a", model: scriptedModel([text]), output }),
      );
      const value = output instanceof z.ZodArray ? [{ name: "Bern" }] : { name: "Bern" };
      expect(result).toMatchObject({ status: "completed", structured: value, output: JSON.stringify(value) });
    },
  );

  test("the model is told what was wrong, and may try again", async () => {
    const { agent, model } = agentOf(["Bern, I think", '{"name":"Bern"}', fine]);
    const { result, events } = await run(agent);
    expect(result).toEqual({ status: "completed", output: fine, structured: parsed, stopReason: "done" });
    const told = model.calls.map(({ request }) => String(request.messages.at(-1)?.content));
    expect(told[1]).toMatch(/^Your answer does not match the required schema: .* expected valid JSON/);
    expect(told[2]).toMatch(/people: Invalid input: expected number, received undefined/);
    expect(events.filter(({ type }) => type === "progress")).toHaveLength(2);
  });

  test("after two more tries the result is partial, with what there is", async () => {
    const { agent, model } = agentOf(["one", "two", "three", fine]);
    const { result } = await run(agent);
    expect(result).toEqual({
      status: "partial",
      output: "three",
      stopReason: "invalid",
      problem: expect.stringContaining('the answer is "three"; expected valid JSON'),
    });
    expect(model.calls).toHaveLength(3);
    expect((await run(agentOf(["one", fine], { outputRetries: 0 }).agent)).result.output).toBe("one");
  });

  test("tries stay within the budget, and the wrap-up may still fit the shape", async () => {
    const { agent } = agentOf(["nonsense", fine]);
    const { result } = await run(agent, "go", { ctx: withTurns(1, { reserve: true }) });
    expect(result).toEqual({ status: "partial", output: fine, structured: parsed, stopReason: "budget" });
    const cut = agentOf(["nonsense", "nonsense too"]).agent;
    const { result: poor } = await run(cut, "go", { ctx: withTurns(1, { reserve: true }) });
    expect(poor).toEqual({ status: "partial", output: "nonsense too", stopReason: "budget" });
  });

  test("T11: an answer that is too deep, or reaches for a prototype, is refused like any other", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    const { result } = await run(agentOf([deep, '{"__proto__":{"polluted":1}}', fine]).agent);
    expect(result.structured).toEqual(parsed);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  test("a raw JSON Schema needs a validator, and is refused without one before anything is paid", async () => {
    const raw = { type: "object", required: ["name"] };
    const model = scriptedModel(["{}", fine]);
    const unchecked = new ReActAgent({ name: "a", model, output: raw });
    await expect(run(unchecked)).rejects.toThrow(/ReActAgent\.output .* validator/);
    expect(model.calls).toHaveLength(0);
    const validator: JsonSchemaValidator = (_, value) =>
      typeof value === "object" && value !== null && "name" in value ? [] : [{ message: "name is missing" }];
    const agent = new ReActAgent({ name: "a", model, output: raw, validator });
    const { result } = await run(agent);
    expectTypeOf(result.structured).toBeUnknown();
    expect(result.structured).toEqual(parsed);
  });
});
