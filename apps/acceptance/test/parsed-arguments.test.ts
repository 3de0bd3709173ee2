import { type Agent, AgentId, defineTool, type LLMClient, type Supervision, textOf } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { describe, expect, it } from "vitest";
import * as z from "zod";

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

  it("are data for those who permit calls, also of an agent that makes the call itself", async () => {
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
    expect(seen).toContainEqual(expect.objectContaining({ action: "tool", arguments: JSON.parse(text) }));
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
