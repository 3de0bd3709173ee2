import { defineTool } from "@ravi/kernel";
import { MiddlewarePipeline, toolCache } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { expect, test } from "vitest";
import * as z from "zod";

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
