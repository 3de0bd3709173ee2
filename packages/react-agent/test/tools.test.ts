import { describe, expect, test } from "vitest";
import { CancellationError, type ContentPart, defineTool, type Tool, type ToolMessage } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ReActAgent, type ReActAgentOptions } from "@ravi/react-agent";
import { scriptedModel } from "@ravi/testing";
import * as z from "zod";
import { add, asks, run } from "./support.ts";

const anything = (execute: () => unknown, name = "tool"): Tool =>
  defineTool({ name, description: "", input: z.unknown(), execute });

/** What the model gets back for one call. */
async function resultOf(
  tool: Tool,
  args: string,
  options: Partial<ReActAgentOptions> = {},
): Promise<ToolMessage | undefined> {
  const model = scriptedModel([asks(tool.name, args), "done"]);
  const { result, ctx } = await run(new ReActAgent({ name: "a", model, tools: [tool], ...options }));
  expect(result.status).toBe("completed");
  return ctx.window().find((message) => message.role === "tool");
}

describe("calls that go wrong become messages that the model can act on", () => {
  test("an unknown tool", async () => {
    const model = scriptedModel([asks("subtract"), "done"]);
    const { ctx, result } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    expect(result.status).toBe("completed");
    expect(ctx.window()[2]).toMatchObject({
      content: 'error: unknown tool "subtract"; available tools: add',
      isError: true,
    });
  });

  test("a tool, of an agent that has none: the call does not go back, as servers refuse it then", async () => {
    const model = scriptedModel([{ text: "I look.", toolCalls: [{ name: "search" }] }, "done"]);
    const { ctx, result } = await run(new ReActAgent({ name: "a", model }));
    expect(result).toMatchObject({ status: "completed", output: "done" });
    expect(ctx.window().slice(1, 3)).toEqual([
      { role: "assistant", content: "I look." },
      { role: "user", content: expect.stringContaining("you have no tools") },
    ]);
    const deaf = scriptedModel((_, call) => asks(`search${call}`));
    const { result: cut } = await run(new ReActAgent({ name: "a", model: deaf }));
    expect([cut.status, deaf.calls.length]).toEqual(["partial", 2]);
  });

  test("invalid arguments, broken JSON, and a tool that throws", async () => {
    expect(await resultOf(add, '{"a":1}')).toMatchObject({
      content: expect.stringMatching(/^error: invalid arguments for add: b: /),
      isError: true,
    });
    expect(await resultOf(add, '{"a":1,')).toMatchObject({
      content: expect.stringMatching(/^error: arguments is .* expected valid JSON/),
      isError: true,
    });
    const broken = anything(() => {
      throw new Error("the disk is full");
    });
    expect(await resultOf(broken, "{}")).toMatchObject({ content: "error: the disk is full", isError: true });
  });

  test("R13: a cancellation of the tool's own is its failure; one of the run ends the run", async () => {
    const own = new CancellationError({ reason: "the queue was too long" });
    const waits = anything(() => Promise.reject(own));
    const told = { content: "error: cancelled: the queue was too long", isError: true };
    expect(await resultOf(waits, "{}")).toMatchObject(told);
    const stop = new AbortController();
    const agent = new ReActAgent({
      name: "a",
      model: scriptedModel([asks("stops"), "done"]),
      tools: [anything(() => (stop.abort("enough"), Promise.reject(own)), "stops")],
    });
    await expect(run(agent, "go", { signal: stop.signal })).rejects.toThrow("enough");
  });
});

describe("T11: hostile arguments through the agent", () => {
  const deep = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  const refused: readonly (readonly [string, string])[] = [
    ["__proto__", '{"__proto__":{"polluted":true}}'],
    ["__proto__, spelt with escapes", '{"\\u005f_proto__":{"polluted":true}}'],
    ["65 deep", deep(65)],
    ["5,000 deep", deep(5_000)],
    ["a million deep", deep(1_000_000)],
    ["10 MB", JSON.stringify("x".repeat(10_000_000))],
    ["a million keys", `{${Array.from({ length: 1_000_000 }, (_, n) => `"k${n}":0`).join(",")}}`],
  ];
  test.each(refused)("%s is refused as an error result", async (_, args) => {
    let ran = false;
    const message = await resultOf(
      anything(() => (ran = true)),
      args,
    );
    expect(message).toMatchObject({ content: expect.stringMatching(/^error: /), isError: true });
    expect(ran).toBe(false);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });

  const harmless: readonly (readonly [string, string])[] = [
    ["64 deep", deep(64)],
    ["constructor and prototype", '{"constructor":{"prototype":{"polluted":true}}}'],
    ["1e400", '{"n":1e400}'],
    ["lone surrogates", '{"s":"\\ud800"}'],
    ["toJSON and then", '{"toJSON":1,"then":2}'],
    ["a then that could be called", '{"then":"x"}'],
  ];
  describe("a null for what may be left out", () => {
    const input = z.object({
      q: z.string(),
      limit: z.number().optional(),
      sort: z.enum(["up", "down"]).default("up"),
      note: z.string().nullable(),
      pages: z.array(z.object({ from: z.number().optional() })).optional(),
    });
    const asked = (
      args: unknown,
      schema: typeof input | z.ZodPipe = input,
    ): Promise<ToolMessage | undefined> =>
      resultOf(
        defineTool({
          name: "find",
          description: "",
          input: schema,
          execute: (given) => JSON.stringify(given),
        }),
        JSON.stringify(args),
      );

    test("counts as left out, at any depth", async () => {
      const args = { q: "x", limit: null, sort: null, note: null, pages: [{ from: null }, { from: 2 }] };
      expect(JSON.parse(String((await asked(args))?.content))).toEqual({
        q: "x",
        sort: "up",
        note: null,
        pages: [{}, { from: 2 }],
      });
    });

    test("also of a schema that is asynchronous", async () => {
      const slow = input.transform(async (given) => given);
      expect((await asked({ q: "x", limit: null, note: null }, slow))?.content).toBe(
        '{"q":"x","sort":"up","note":null}',
      );
    });

    test("is told where it cannot be left out, as it was written", async () => {
      expect(await asked({ q: null, limit: null, note: null })).toMatchObject({
        isError: true,
        content:
          "error: invalid arguments for find: q: Invalid input: expected string, received null; limit: Invalid input: expected number, received null",
      });
      expect((await asked({ q: "x", limit: null, note: 5 }))?.content).toMatch(
        /limit: .* received null; note: /,
      );
      expect((await asked({ q: "x", note: null, pages: [null] }))?.content).toMatch(
        /pages\.0: .* received null/,
      );
    });
  });

  test.each(harmless)("%s reaches the tool as plain data", async (_, args) => {
    const echo = defineTool({ name: "echo", description: "", input: z.unknown(), execute: (value) => value });
    const message = await resultOf(echo, args);
    expect(message?.isError).toBeUndefined();
    expect(JSON.parse(String(message?.content))).toEqual(JSON.parse(JSON.stringify(JSON.parse(args))));
    expect(Reflect.get({}, "polluted")).toBeUndefined();
  });
});

describe("huge results", () => {
  test("are cut in the middle with a notice", async () => {
    const message = await resultOf(
      anything(() => `first ${"x".repeat(1_000_000)} last`),
      "{}",
    );
    const content = String(message?.content);
    expect(content.length).toBeLessThanOrEqual(50_000);
    expect(content).toMatch(/^first x/);
    expect(content).toMatch(/\[\.\.\. \d+ characters were cut out here/);
    expect(content).toMatch(/x last$/);
  });

  test("maxToolResultChars says where; parts keep their shares, and images are left whole", async () => {
    const url = `data:image/png;base64,${"A".repeat(10_000)}`;
    const content: readonly ContentPart[] = [
      { type: "text", text: "x".repeat(5_000) },
      { type: "image", url },
      { type: "text", text: "y".repeat(5_000) },
    ];
    const model = scriptedModel([asks("tool"), "done"]);
    const agent = new ReActAgent({
      name: "a",
      model,
      tools: [anything(() => "unused")],
      maxToolResultChars: 1_000,
    });
    const ctx = bareContext();
    // Parts come from layers around a tool, through the context.
    ctx.tool = async () => ({ content, isError: false });
    await run(agent, "go", { ctx });
    const parts = ctx.window().find((message) => message.role === "tool")?.content;
    expect(parts).toMatchObject([
      { text: expect.stringMatching(/^x+\n\[\.\.\. \d+ characters .*\]\nx+$/) },
      { url },
      { text: expect.stringMatching(/^y+\n\[\.\.\. \d+ characters .*\]\ny+$/) },
    ]);
  });
});

describe("O17: a model that goes round in circles", () => {
  const failing = anything(() => {
    throw new Error("no");
  }, "broken");

  test("the same failing call: warned, blocked, and landed", async () => {
    let ran = 0;
    const broken = anything(() => {
      ran++;
      throw new Error("no");
    }, "broken");
    const model = scriptedModel(({ tools }) => (tools === undefined ? "I give up." : asks("broken")));
    const { result, ctx } = await run(new ReActAgent({ name: "a", model, tools: [broken] }));
    expect(result).toEqual({ status: "partial", output: "I give up.", stopReason: "loop" });
    expect(ran).toBe(5);
    const results = ctx.window().flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
    expect(results[0]).toBe("error: no");
    expect(results[1]).toBe(
      "error: no\n[warning: this same call has failed 2 times; change its arguments or try something else]",
    );
    expect(results[5]).toMatch(/^error: this same call has failed 5 times and was not made again/);
    expect(results).toHaveLength(8);
  });

  test("a tool that always fails ends the loop at 8, whatever its arguments", async () => {
    const model = scriptedModel(({ tools }, n) =>
      tools === undefined ? "I give up." : asks("broken", { n }),
    );
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [failing] }));
    expect(result.stopReason).toBe("loop");
    expect(model.calls).toHaveLength(9);
  });

  test("so does a tool that does not exist", async () => {
    const model = scriptedModel(({ tools }, n) =>
      tools === undefined ? "I give up." : asks("imagined", { n }),
    );
    expect((await run(new ReActAgent({ name: "a", model, tools: [add] }))).result.stopReason).toBe("loop");
  });

  test("the same call with the same result is warned of the second time", async () => {
    const model = scriptedModel((_, n) => (n === 3 ? "done" : asks("add", { a: 1, b: 1 })));
    const { ctx } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    const results = ctx.window().flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
    const warning = (times: number): string =>
      `2\n[warning: this same call has returned the same result ${times} times; calling it again will not help]`;
    expect(results).toEqual(["2", warning(2), warning(3)]);
  });

  test("the same call with the same result is blocked after 5; others beside it are made", async () => {
    const model = scriptedModel((_, n) =>
      n === 6
        ? "done"
        : {
            toolCalls: [
              { name: "add", arguments: { a: 1, b: 1 }, id: "same" },
              // A result that is new would start the count anew.
              ...(n < 5 ? [] : [{ name: "add", arguments: { a: n, b: 7 }, id: "other" }]),
            ],
          },
    );
    const { ctx } = await run(new ReActAgent({ name: "a", model, tools: [add] }));
    const [same, other] = ctx.window().slice(-3);
    expect(same).toMatchObject({
      toolCallId: "same",
      isError: true,
      content: expect.stringMatching(/^error: this same call has returned the same result 5 times/),
    });
    expect(other).toEqual({ role: "tool", toolCallId: "other", name: "add", content: "12" });
  });

  test.each(["clean", new Error("2 tests failed")])(
    "O17: an agent that gets on may hear the same again and again: %s",
    async (same) => {
      let asked = 0;
      const status = anything(() => {
        asked++;
        return same;
      });
      const model = scriptedModel((_, n) => {
        if (n === 40) return "done";
        const call =
          n % 2 === 0 ? { name: status.name, arguments: {} } : { name: "add", arguments: { a: n, b: 1 } };
        return { toolCalls: [call] };
      });
      const { result } = await run(new ReActAgent({ name: "a", model, tools: [status, add] }));
      expect(result).toMatchObject({ status: "completed", output: "done" });
      expect(asked).toBe(20);
    },
  );

  test("results that differ only in what is cut out are the same: they are compared, and kept, as the model reads them", async () => {
    let asked = 0;
    const page = anything(() => `${"x".repeat(5_000)}${++asked}${"x".repeat(5_000)}`, "page");
    const model = scriptedModel((_, n) => (n === 2 ? "done" : asks("page")));
    const agent = new ReActAgent({ name: "a", model, tools: [page], maxToolResultChars: 1_000 });
    const { ctx } = await run(agent);
    const results = ctx.window().flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
    expect(results[0]).toMatch(/^x+\n\[\.\.\. 9\d{3} characters were cut out here/);
    expect(results[1]).toBe(
      `${results[0]}\n[warning: this same call has returned the same result 2 times; calling it again will not help]`,
    );
  });

  test("what is blocked stays blocked, and asking on for it ends the loop", async () => {
    let ran = 0;
    const status = anything(() => {
      ran++;
      return "pending";
    }, "status");
    const model = scriptedModel(({ tools }) => (tools === undefined ? "Still pending." : asks("status")));
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [status] }));
    expect(result).toEqual({ status: "partial", output: "Still pending.", stopReason: "loop" });
    expect(ran).toBe(5);
    expect(model.calls).toHaveLength(5 + 8 + 1);
  });

  test("calls that were cut off were not made, and have not failed", async () => {
    const cut = { toolCalls: [{ name: "add", arguments: { a: 1, b: 1 } }], finishReason: "length" as const };
    const { ctx } = await run(
      new ReActAgent({ name: "a", model: scriptedModel([cut, cut, "done"]), tools: [add] }),
    );
    const results = ctx.window().flatMap((message) => (message.role === "tool" ? [message.content] : []));
    expect(results).toHaveLength(2);
    expect(results[1]).toBe(results[0]);
  });

  test("128 parallel calls that all fail are one failure", async () => {
    const toolCalls = Array.from({ length: 128 }, (_, n) => ({ name: "broken", arguments: { n } }));
    const model = scriptedModel([{ toolCalls }, "I see."]);
    const { result } = await run(new ReActAgent({ name: "a", model, tools: [failing] }));
    expect(result).toEqual({ status: "completed", output: "I see.", stopReason: "done" });
  });

  test("loopDetection: false is for tools that are meant to be called again and again", async () => {
    const model = scriptedModel((_, n) => (n === 20 ? "down" : asks("press", { key: "down" })));
    const press = anything(() => "ok", "press");
    const { result, ctx } = await run(
      new ReActAgent({ name: "a", model, tools: [press], loopDetection: false }),
    );
    expect(result.status).toBe("completed");
    expect(
      new Set(ctx.window().flatMap((message) => (message.role === "tool" ? [message.content] : []))),
    ).toEqual(new Set(["ok"]));
  });
});
