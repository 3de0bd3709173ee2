import { HookEvent, HookManager } from "@ravi/hooks";
import {
  type Agent,
  AgentId,
  defineTool,
  type LLMClient,
  MiddlewareTermination,
  type RunScope,
  type Supervision,
  textOf,
} from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { contentFilter, MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { getRunScope, MemoryJournal, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";

// What somebody found who wrote tests from the documents alone.

it("R18: a limit that was warned of and is passed later is told again, and stands in the result and on record", async () => {
  const told: object[] = [];
  const hooks = new HookManager();
  hooks.on(HookEvent.BUDGET_WARNING, ({ used, limit }) => void told.push({ used, limit }));
  const noop = defineTool({ name: "noop", description: "", input: z.object({}), execute: () => "ok" });
  const model = scriptedModel([
    { toolCalls: [{ name: "noop" }], usage: { inputTokens: 300, outputTokens: 8_200 } },
    { text: "final", usage: { inputTokens: 300, outputTokens: 50_000 } },
  ]);
  const settings = { maxOutputTokens: 20 };
  const worker = new ReActAgent({ name: "worker", model, tools: [noop], hooks, settings });
  const journal = new MemoryJournal();
  const runtime = new Runtime({
    journal,
    ledger: ({ executionBudget, agentId }) =>
      new ExecutionTracker(executionBudget, { reserve: false, scope: agentId }),
  });
  const exceeded = [{ dimension: "tokens", used: 58_800, limit: 10_000, scope: "worker" }];
  const result = await runtime.run(worker, "x", { runId: "r", executionBudget: { maxTokens: 10_000 } })
    .result;
  expect(result).toMatchObject({ status: "completed", output: "final", exceeded });
  expect(told).toEqual([
    { used: 8_500, limit: 10_000 },
    { used: 58_800, limit: 10_000 },
  ]);
  expect(await runtime.resume("r").result).toMatchObject({ exceeded });
});

describe("R21: whoever listens hears once of a guard that stops a run", () => {
  const stop = async (): Promise<never> => {
    throw new MiddlewareTermination({ layer: "mine", reason: "no" });
  };
  const layers = {
    agent: { agent: new MiddlewarePipeline([stop], { level: "agent" }) },
    chat: { chat: new MiddlewarePipeline([stop], { level: "chat" }) },
    function: { function: new MiddlewarePipeline([stop], { level: "function" }) },
  } as const;
  const noop = defineTool({ name: "noop", description: "", input: z.object({}), execute: () => "ok" });

  it.each(["agent", "chat", "function"] as const)(
    "one of the user's own around the %s level",
    async (level) => {
      const trips: object[] = [];
      const hooks = new HookManager();
      hooks.on(HookEvent.GUARDRAIL_TRIP, ({ layer, reason }) => void trips.push({ layer, reason }));
      const model = scriptedModel([{ toolCalls: [{ name: "noop" }] }, "done"]);
      const worker = new ReActAgent({
        name: "worker",
        model,
        tools: [noop],
        hooks,
        middleware: layers[level],
      });
      const { status, error } = await new Runtime().run(worker, "x").result;
      expect([status, error?.code]).toEqual(["failed", "MIDDLEWARE_TERMINATION"]);
      expect(trips).toEqual([{ layer: "mine", reason: "no" }]);
    },
  );

  it("one of this package", async () => {
    let trips = 0;
    const hooks = new HookManager();
    hooks.on(HookEvent.GUARDRAIL_TRIP, () => void trips++);
    const middleware = { chat: new MiddlewarePipeline([contentFilter({ blocked: ["evil"] })]) };
    const worker = new ReActAgent({ name: "worker", model: scriptedModel(["x"]), hooks, middleware });
    expect((await new Runtime().run(worker, "evil").result).status).toBe("failed");
    expect(trips).toBe(1);
  });
});

describe("J5: whoever is hired has the user and the run of its parent, and a session of its own", () => {
  const seen: Record<string, RunScope | undefined> = {};
  const note = (name: string, below?: Agent): Agent => ({
    id: AgentId(name),
    async run(ctx) {
      seen[name] = ctx.scope;
      if (below !== undefined) await ctx.hire({ agent: below, input: "" });
      return { status: "completed", output: "", stopReason: "done" };
    },
  });
  const lead = note("lead", note("helper", note("leaf")));
  const expected = {
    lead: { userId: "u", runId: "r", sessionId: "s" },
    helper: { userId: "u", runId: "r", sessionId: "s/helper/1" },
    leaf: { userId: "u", runId: "r", sessionId: "s/leaf/1.1" },
  };

  it("under a runtime", async () => {
    await new Runtime().run(lead, "", { runId: "r", sessionId: "s", userId: "u" }).result;
    expect(seen).toMatchObject(expected);
  });

  it("in a tool of theirs, where the scope is ambient", async () => {
    const scopes: (string | undefined)[] = [];
    const look = defineTool({
      name: "look",
      description: "",
      input: z.object({}),
      execute: () => void scopes.push(getRunScope()?.sessionId),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, "done"]);
    const helper = new ReActAgent({ name: "helper", model, tools: [look] });
    await new Runtime({ ambientScope: true }).run(note("lead", helper), "", { sessionId: "s" }).result;
    expect(scopes).toEqual(["s/helper/1"]);
  });

  it("in a bare context", async () => {
    const ctx = bareContext({ userId: "u" });
    await ctx.hire({ agent: lead, input: "" });
    const { sessionId } = ctx.scope;
    expect(seen["leaf"]).toMatchObject({ userId: "u", sessionId: `${sessionId}/leaf/1.1.1` });
  });
});

describe("R19: arguments that a client has parsed already", () => {
  const args = { a: 1, b: { c: "two" } };
  const text = JSON.stringify(args);
  const input = z.object({ a: z.number(), b: z.object({ c: z.string() }) });
  const add = defineTool({ name: "add", description: "", input, execute: ({ a, b }) => `${a} ${b.c}` });
  const call = { id: "call_0", name: "add", arguments: args };

  /** Asks for the tool once, then says what came back. */
  function parsing() {
    const asked: string[] = [];
    const usage = { inputTokens: 1, outputTokens: 1 };
    const client: LLMClient = {
      id: "parsing",
      info: { provider: "own", model: "parsing" },
      async generate({ messages }) {
        const calls = messages.flatMap((one) => (one.role === "assistant" ? (one.toolCalls ?? []) : []));
        asked.push(...calls.map((one) => one.arguments));
        const last = messages.at(-1);
        if (last?.role === "tool")
          return {
            message: { role: "assistant", content: String(last.content) },
            usage,
            finishReason: "stop",
          };
        const message = { role: "assistant", content: "", toolCalls: [call] };
        return { message, usage, finishReason: "toolCalls" } as never;
      },
    };
    return { asked, client };
  }
  const pass = new MiddlewarePipeline([async (_context, next) => next()], { level: "chat" });

  it.each([
    ["a bare runtime", {}],
    ["a ledger", { ledger: ({ executionBudget }: Supervision) => new ExecutionTracker(executionBudget) }],
    ["a journal", { journal: new MemoryJournal() }],
    ["layers", { pipelines: { chat: pass } }],
  ])("are the text of a call from then on, with %s", async (_name, ports) => {
    const { asked, client } = parsing();
    const worker = new ReActAgent({ name: "worker", model: client, tools: [add] });
    const { result } = new Runtime(ports).run(worker, "go");
    expect(await result).toMatchObject({ status: "completed", output: "1 two" });
    expect(asked).toEqual([text]);
  });

  it("are text for those who permit and approve calls, also of an agent that makes the call itself", async () => {
    const seen: unknown[] = [];
    const permissions = {
      isNoop: false,
      check: (request: unknown) => (seen.push(request), { allow: true } as const),
    };
    const own: Agent = {
      id: AgentId("own"),
      async run(ctx) {
        const result = await ctx.tool(call as never, { ...add, needsApproval: true });
        return { status: "completed", output: textOf(result), stopReason: "done" };
      },
    };
    await using runtime = new Runtime({ permissions });
    const handle = runtime.run(own, "", { runId: "permitted" });
    await runtime.deliver("permitted", "approval:permitted:tool:add#1", true);
    expect(await handle.result).toMatchObject({ output: "1 two" });
    expect(seen).toContainEqual(expect.objectContaining({ action: "tool", arguments: text }));
  });

  it("cost what the provider says, even if JSON cannot write them; the model is told", async () => {
    const { client } = parsing();
    const odd: LLMClient = {
      ...client,
      async generate(request, options) {
        const answer = await client.generate(request, options);
        const toolCalls = answer.message.toolCalls?.map((one) => ({ ...one, arguments: { a: 1n } as never }));
        return { ...answer, message: { ...answer.message, ...(toolCalls && { toolCalls }) } };
      },
    };
    const worker = new ReActAgent({ name: "worker", model: odd, tools: [add] });
    const ledger = new ExecutionTracker({ maxTokens: 1_000_000 });
    const { result } = new Runtime({ ledger: () => ledger }).run(worker, "go");
    expect(await result).toMatchObject({ output: expect.stringContaining("error: ") });
    expect(ledger.used.tokens).toBe(4);
  });

  it.each([undefined, null, 7])(
    "that a client leaves out, or that are no object, harm nobody (%s)",
    async (given) => {
      const { client } = parsing();
      const odd: LLMClient = {
        ...client,
        async generate(request, options) {
          const answer = await client.generate(request, options);
          const toolCalls = answer.message.toolCalls?.map((one) => ({ ...one, arguments: given as never }));
          return { ...answer, message: { ...answer.message, ...(toolCalls && { toolCalls }) } };
        },
      };
      const worker = new ReActAgent({ name: "worker", model: odd, tools: [add] });
      const ledger = new ExecutionTracker({ maxTokens: 1_000_000 });
      const { result } = new Runtime({ ledger: () => ledger, meter: new ModelMeter({}) }).run(worker, "go");
      expect(await result).toMatchObject({
        output: expect.stringMatching(/^error: invalid arguments/),
      });
      expect(ledger.used.tokens).toBe(4);
    },
  );

  it("are read where an agent makes the call itself, and told apart from others on a resume", async () => {
    const reached = Promise.withResolvers<void>();
    const agent = (given: unknown): Agent => ({
      id: AgentId("own"),
      async run(ctx) {
        const result = await ctx.tool({ ...call, arguments: given } as never, add);
        reached.resolve();
        await ctx.waitFor("more");
        return { status: "completed", output: textOf(result), stopReason: "done" };
      },
    });
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, agents: [agent(args)] });
    const { runId } = first.run(agent(args), "", { runId: "parsed" });
    await reached.promise;
    await first.close();
    const other = new Runtime({ journal, agents: [agent({ ...args, a: 2 })] });
    expect(await other.resume(runId).result).toMatchObject({
      status: "suspended",
      error: { code: "NON_DETERMINISM" },
    });
    const { content } = await bareContext().tool(call as never, add);
    expect(content).toBe("1 two");
  });
});
