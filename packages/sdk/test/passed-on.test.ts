import { MemoryHistory } from "@ravi/context";
import {
  AgentId,
  type ChatContext,
  type Next,
  type OuterCall,
  type Pipeline,
  Priority,
  ProviderError,
  type RunScope,
} from "@ravi/kernel";
import { MiddlewarePipeline, retry as retryLayer } from "@ravi/middleware";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { expect, test, vi } from "vitest";
import * as z from "zod";
import { around } from "../src/agents/layers.ts";
import { type Agent, agent, resume, run, start, tool } from "@ravi/sdk";

// Options of the sdk that the runtime takes too: each has to get there.

const patient: Agent = {
  id: AgentId("patient"),
  run: async (ctx) => ({
    status: "completed",
    output: String(await ctx.waitFor("word")),
    stopReason: "done",
  }),
};

test("a run is cancelled by its signal, and so is one that is resumed", async () => {
  const journal = new MemoryJournal();
  const stop = new AbortController();
  const first = start(patient, "go", { journal, runId: "first", signal: stop.signal });
  await expect.poll(() => journal.list()).toMatchObject([{ waitingFor: [{ name: "word" }] }]);
  stop.abort(new Error("enough"));
  expect((await first.result).status).toBe("cancelled");

  await start(patient, "go", { journal, runId: "second" }).suspend();
  const signal = AbortSignal.abort(new Error("enough"));
  expect((await resume("second", { agents: patient, journal, signal })).status).toBe("cancelled");
});

test("an agent knows whose run it is, its metadata and its priority", async () => {
  let scope: RunScope | undefined;
  const curious: Agent = {
    id: AgentId("curious"),
    async run(ctx) {
      scope = ctx.scope;
      return { status: "completed", output: "", stopReason: "done" };
    },
  };
  const told = { userId: "ada", tenantId: "acme", sessionId: "s", metadata: { ticket: 7 } };
  const { tree } = await run(curious, "go", { ...told, priority: Priority.HIGH });
  expect(scope).toMatchObject(told);
  expect(tree.agents()[0]?.priority).toBe(Priority.HIGH);
});

test("a conversation is kept where the user gives a history, also without a session's id", async () => {
  const history = new MemoryHistory();
  const append = vi.spyOn(history, "append");
  const clerk = () => agent({ name: "clerk", model: scriptedModel(["Hello."]) });
  await run(clerk(), "Hi.", { history });
  expect(append.mock.calls.flatMap(([, messages]) => messages)).toMatchObject([
    { role: "user", content: "Hi." },
    { role: "assistant", content: "Hello." },
  ]);
});

test.each([undefined, false] as const)(
  "layers around agents and tools are called, with the option retry: %s",
  async (retry) => {
    const called: string[] = [];
    const layer = (name: string) => async (_: unknown, next: () => PromiseLike<void>) => {
      called.push(name);
      await next();
    };
    const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, "Done."]);
    const look = tool({ name: "look", description: "", input: z.object({}), execute: () => "seen" });
    const middleware = { agent: [layer("agent")], chat: [layer("chat")], function: [layer("function")] };
    await run(agent({ name: "clerk", model, tools: [look] }), "Hi.", { middleware, retry });
    expect(called).toEqual(["agent", "chat", "function", "chat"]);
  },
);

test("a call of an agent that has a retry of its own is not retried by the run as well", async () => {
  const model = scriptedModel(() => new ProviderError({ kind: "SERVER_ERROR" }));
  const chat = new MiddlewarePipeline([retryLayer({ maxRetries: 1, baseMs: 0 })], { level: "chat" });
  const stubborn: Agent = {
    id: AgentId("stubborn"),
    pipelines: { chat },
    async run(ctx) {
      await ctx.llm(model, { messages: [{ role: "user", content: "Hi" }] });
      return { status: "completed", output: "", stopReason: "done" };
    },
  };
  expect((await run(stubborn, "Hi.")).status).toBe("failed");
  expect(model.calls).toHaveLength(2);
});

test("R9: a ready-made pipeline is told whether the layer around it still waits for it", async () => {
  let passage: OuterCall | undefined;
  const inner: Pipeline<ChatContext> = {
    isNoop: false,
    admit: () => undefined,
    async run(_, core, outer) {
      passage = outer;
      await core(outer);
    },
  };
  const waits: unknown[] = [];
  const outermost = { level: "chat", process: (_: ChatContext, next: Next) => next() } as const;
  await around(outermost, inner).run({} as ChatContext, async () => {
    waits.push(passage?.isGivenUp());
  });
  expect([...waits, passage?.isGivenUp()]).toEqual([false, true]);
});
