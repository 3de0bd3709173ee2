import { type Agent, AgentId, defineTool, type RunScope } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ReActAgent } from "@ravi/react-agent";
import { getRunScope, Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, it, test } from "vitest";
import * as z from "zod";
import { MiddlewarePipeline, toolCache } from "@ravi/middleware";

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

test("J5: a tool that looks up what is the user's is not answered from the cache with what is another's", async () => {
  let lookups = 0;
  const orders = defineTool({
    name: "my_orders",
    description: "The orders of whoever asks.",
    input: z.object({}),
    execute(_, { scope }) {
      lookups++;
      return `orders of ${String(scope.userId)}`;
    },
  });
  const runtime = new Runtime({
    pipelines: { function: new MiddlewarePipeline([toolCache({ tools: ["my_orders"] })]) },
  });
  const told: unknown[] = [];
  for (const userId of ["alice", "bob", "alice", undefined]) {
    const model = scriptedModel([{ toolCalls: [{ name: "my_orders", arguments: {} }] }, "done"]);
    const clerk = new ReActAgent({ name: "clerk", model, tools: [orders] });
    await runtime.run(clerk, "What have I ordered?", { userId }).result;
    told.push(model.calls.at(-1)?.request.messages.at(-1)?.content);
  }
  expect(told).toEqual(["orders of alice", "orders of bob", "orders of alice", "orders of null"]);
  expect(lookups).toBe(3);
});
