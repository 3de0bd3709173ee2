import { describe, expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  CancellationError,
  type JsonValue,
  type Leaf,
  type ModelResponse,
  SuspendedError,
  type Tool,
  type ToolCall,
} from "@ravi/kernel";
import { bareContext, delegateTo, type ToolTurn, toolTurn, type TurnContext } from "@ravi/kernel/loop";

const call = (name: string, id: string): ToolCall => ({ id, name, arguments: "{}" });

const asking = (...toolCalls: ToolCall[]): ModelResponse => ({
  message: { role: "assistant", content: "", toolCalls },
  finishReason: "toolCalls",
});

const quick: Tool = { name: "quick", description: "", input: {}, execute: () => "soon" };

const free = { validator: () => [] };

/** No promise, and its `then` gives nothing back. */
function thenable<T>(promise: Promise<T>): unknown {
  const name = ["th", "en"].join("");
  const settle = (...handlers: Parameters<Promise<T>["then"]>): void => void promise.then(...handlers);
  return { [name]: settle };
}

function contextOf(batch: (leaves: readonly Leaf[]) => unknown): TurnContext {
  return { batch: batch as TurnContext["batch"] };
}

function summary({ messages, stop }: ToolTurn) {
  return { contents: messages.map(({ content }) => content), stop };
}

describe("a turn of tools, whatever its context does", () => {
  const stop = new CancellationError({ reason: "enough" });
  const stops: [string, () => unknown][] = [
    [
      "throws at once",
      () => {
        throw stop;
      },
    ],
    ["rejects", () => Promise.reject(stop)],
    ["rejects by a thenable", () => thenable(Promise.reject(stop))],
  ];

  test.each(stops)(
    "R9: a stop that the context %s is the turn's, in one batch and in several",
    async (_, batch) => {
      const calls = asking(call("quick", "1"), call("nobody", "2"), call("quick", "3"));
      const expected = {
        contents: [
          "error: not run: the run is ending",
          'error: unknown tool "nobody"; available tools: quick',
          "error: not run: the run is ending",
        ],
        stop,
      };
      expect(summary(await toolTurn(contextOf(batch), calls, [quick]))).toEqual(expected);
      expect(summary(await toolTurn(contextOf(batch), calls, [quick], { concurrency: 1 }))).toEqual(expected);
    },
  );

  test("R9: a suspension that the context throws at once suspends the turn, as a rejection", async () => {
    const suspended = new SuspendedError({ reason: "closed" });
    const ctx = contextOf(() => {
      throw suspended;
    });
    await expect(toolTurn(ctx, asking(call("quick", "1")), [quick])).rejects.toBe(suspended);
  });

  test("R23: outcomes that come by a thenable are waited for", async () => {
    const bare = bareContext(free);
    const ctx = contextOf((leaves) => thenable(bare.batch(leaves)));
    const turn = await toolTurn(ctx, asking(call("quick", "1")), [quick]);
    expect(summary(turn)).toEqual({ contents: ["soon"], stop: undefined });
  });

  test("R23: a schema may check by a thenable, and its refusal is told to the model", async () => {
    let made = 0;
    const validate = (): unknown => thenable(Promise.resolve({ issues: [{ message: "not this one" }] }));
    const strict = {
      ...quick,
      input: { "~standard": { version: 1, vendor: "own", validate } } as object as Tool["input"],
      execute: () => String(++made),
    };
    const { messages } = await toolTurn(bareContext(free), asking(call("quick", "1")), [strict]);
    expect(messages).toMatchObject([{ isError: true, content: expect.stringContaining("not this one") }]);
    expect(made).toBe(0);
  });

  test("R23: what throws while the turn is planned or told is a rejection, also behind a hand-off", async () => {
    const helper: Agent = {
      id: AgentId("helper"),
      run: async () => ({ status: "completed", output: "helped", stopReason: "done" }),
    };
    const before = ({ id }: ToolCall): undefined => {
      if (id === "2") throw new TypeError("no opinion");
    };
    const calls = asking({ id: "1", name: "helper", arguments: '{"task":"help"}' }, call("quick", "2"));
    const tools = [delegateTo(helper), quick];
    await expect(toolTurn(bareContext(free), calls, tools, { before })).rejects.toThrow("no opinion");
    const only = asking(call("quick", "2"));
    await expect(toolTurn(bareContext(free), only, tools, { before })).rejects.toThrow("no opinion");
  });
});

test("T11: a fact may come by a thenable, and is checked all the same", async () => {
  const ctx = bareContext(free);
  const record = (value: JsonValue): unknown =>
    ctx.record("fact", () => thenable(Promise.resolve(value)) as Promise<JsonValue>);
  expect(await record({ n: 1 })).toEqual({ n: 1 });
  await expect(record(Number.NaN)).rejects.toMatchObject({ code: "INVALID_VALUE" });
});
