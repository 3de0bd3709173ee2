import { expect, test } from "vitest";
import { retry, MiddlewarePipeline } from "@ravi/middleware";
import { openai } from "@ravi/provider-openai";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { loopbackOpenAI } from "@ravi/testing";

test("R18: a provider that nobody could reach for a while has charged nothing, and the books say so", async () => {
  const prices = { input: 0.25, output: 2 };
  const script = ["Good morning."];
  const { url, ...gone } = await loopbackOpenAI({ script });
  await gone.close();
  const model = openai("gpt-5.2", { baseURL: url, apiKey: "sk-example-key" });
  const greeter = new ReActAgent({ name: "greeter", model, settings: { maxOutputTokens: 1_000 } });
  let tries = 0;
  let back: Awaited<ReturnType<typeof loopbackOpenAI>> | undefined;
  const runtime = new Runtime({
    meter: new ModelMeter({ prices: { "gpt-5.2": prices } }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    pipelines: {
      chat: new MiddlewarePipeline([
        retry({ baseMs: 0 }),
        async (_context, next) => {
          // It is there again at the third try.
          if (++tries === 3) back = await loopbackOpenAI({ script, prices, port: Number(new URL(url).port) });
          await next();
        },
      ]),
    },
  });
  try {
    const result = await runtime.run(greeter, "Hello", { executionBudget: { maxCostUsd: 1 } }).result;
    expect(result).toMatchObject({ status: "completed", output: "Good morning." });
    expect(tries).toBe(3);
    expect(result.cost).toBe(back?.bill().costUsd);
  } finally {
    await back?.close();
  }
});
