import {
  AgentId,
  BudgetExhaustedError,
  CancellationError,
  InvalidValueError,
  type LLMClient,
  type ModelRequest,
  ProviderError,
  type RunContext,
  Supervision,
  ToolError,
} from "@ravi/kernel";
import { bareContext, land } from "@ravi/kernel/loop";
import { expect, it } from "vitest";

const model: LLMClient = {
  id: "m",
  info: { provider: "x", model: "m" },
  generate: async () => ({ message: { role: "assistant", content: "at last" }, finishReason: "stop" }),
};
const tool = {
  role: "tool",
  toolCallId: "c",
  name: "t",
  content: "x".repeat(10_000),
  isError: false,
} as const;
const request: ModelRequest = {
  messages: [{ role: "user", content: "go" }, tool],
  reasoning: { effort: "high" },
};
const lead = Supervision.root(AgentId("lead"));
const helper = lead.spawnChild({ agentId: AgentId("helper", 1) });

/** A context that refuses so many calls, by the limit of that scope. */
function refusing(supervision: Supervision, times: number, scope: string, dimension: "tokens" | "turns") {
  const asked: ModelRequest[] = [];
  const bare = bareContext({ supervision });
  const ctx: RunContext = Object.create(bare, {
    llm: {
      value: async (asking: LLMClient, each: ModelRequest) => {
        asked.push(each);
        if (asked.length <= times) throw new BudgetExhaustedError({ dimension, used: 9, limit: 10, scope });
        return bare.llm(asking, each);
      },
    },
  });
  return { asked, ctx };
}

const options = { model, request, stopReason: "budget", said: "so far", hasWorked: true } as const;

it("R18: a last turn that does not fit is made smaller: its answer first, then what tools have said", async () => {
  const { asked, ctx } = refusing(lead, 4, "lead", "tokens");
  expect(await land(ctx, options)).toMatchObject({ status: "partial", output: "at last" });
  expect(asked.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([undefined, 1_000, 1_000, 500, 250]);
  const lengths = asked.map(({ messages }) => Math.ceil((messages[1]?.content.length ?? 0) / 100) * 100);
  expect(lengths).toEqual([10_000, 10_000, 2_000, 500, 200]);
  expect(asked.map(({ reasoning }) => reasoning === undefined)).toEqual([false, true, true, true, true]);
});

it("what was said last is the answer where nothing fits", async () => {
  const { asked, ctx } = refusing(lead, 99, "lead", "tokens");
  expect(await land(ctx, options)).toMatchObject({ output: "so far" });
  expect(asked).toHaveLength(5);
});

it("of one who has said nothing in this run it is the model's last text, not what a tool or the user has said", async () => {
  const { ctx } = refusing(lead, 99, "lead", "tokens");
  const messages = [
    { role: "user", content: "go" },
    { role: "assistant", content: "an earlier answer" },
    { role: "assistant", content: "" },
    tool,
  ] as const;
  const landed = await land(ctx, { ...options, said: undefined, request: { messages } });
  expect(landed).toMatchObject({ output: "an earlier answer" });
});

it("and where the provider fails in the last turn: the work was done all the same", async () => {
  const failing: LLMClient = {
    ...model,
    generate: () => Promise.reject(new ProviderError({ kind: "OVERLOADED", message: "busy" })),
  };
  expect(await land(bareContext(), { ...options, model: failing })).toMatchObject({
    status: "partial",
    output: "so far",
  });
});

it.each([
  ["of its own", new TypeError("fetch failed")],
  ["as a record gives it back", new ToolError({ toolName: "m", message: "fetch failed" })],
])("R18: and where its client throws an error %s", async (_, error) => {
  const failing: LLMClient = { ...model, generate: () => Promise.reject(error) };
  const landed = await land(bareContext(), { ...options, model: failing });
  expect(landed).toMatchObject({ status: "partial", output: "so far" });
});

it("but not where it is cancelled, whatever its client throws then", async () => {
  const ctx = bareContext();
  const aborted: LLMClient = {
    ...model,
    generate: async () => {
      ctx.meta.cancellation.cancel("enough");
      throw new DOMException("aborted", "AbortError");
    },
  };
  await expect(land(ctx, { ...options, model: aborted })).rejects.toThrow(CancellationError);
  const refused = new InvalidValueError({ field: "price", value: "unknown", expected: "a price" });
  const wrong: LLMClient = { ...model, generate: () => Promise.reject(refused) };
  await expect(land(bareContext(), { ...options, model: wrong })).rejects.toBe(refused);
});

it("R18: only what tools have said is shortened, not what the user and the model have", async () => {
  const { asked, ctx } = refusing(lead, 4, "lead", "tokens");
  const long = "y".repeat(10_000);
  const messages = [{ role: "user", content: long }, { role: "assistant", content: long }, tool] as const;
  await land(ctx, { ...options, request: { messages } });
  const said = asked.map(({ messages: sent }) => sent.slice(0, 2).map(({ content }) => content.length));
  expect(said).toEqual(asked.map(() => [10_000, 10_000]));
  expect(asked).toHaveLength(5);
});

it("and where the last turn says nothing but white space", async () => {
  const blank: LLMClient = {
    ...model,
    generate: async () => ({ message: { role: "assistant", content: " \n" }, finishReason: "stop" }),
  };
  expect(await land(bareContext(), { ...options, model: blank })).toMatchObject({ output: "so far" });
});

it.each([
  ["whose first call it would be", lead, "lead", "tokens", false],
  ["under a limit of somebody above", helper, "lead", "tokens", true],
  ["in turns, which have no size", lead, "lead", "turns", true],
] as const)("nothing smaller is tried by one %s", async (_, supervision, scope, dimension, hasWorked) => {
  const { asked, ctx } = refusing(supervision, 99, scope, dimension);
  expect(await land(ctx, { ...options, hasWorked })).toMatchObject({ output: "so far" });
  expect(asked).toHaveLength(1);
});

it.each([["helper/1"], ["lead/helper/1"]])(
  "a helper's own limit is known by its scope: %s",
  async (scope) => {
    const { ctx } = refusing(helper, 1, scope, "tokens");
    expect(await land(ctx, options)).toMatchObject({ output: "at last" });
  },
);
