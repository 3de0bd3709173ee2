import { defineTool } from "@ravi/kernel";
import { fallback, MiddlewarePipeline } from "@ravi/middleware";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { type Answer, loopbackAnthropic, loopbackOpenAI } from "@ravi/testing";
import { expect, test } from "vitest";
import * as z from "zod";
import { modelOf } from "../src/models.ts";

const OVERLOADED: Answer = { fault: { type: "status", status: 503 } };

test("R19: when a provider fails in the middle of a run, the next one goes on with its calls, results and reasoning", async () => {
  const step = (n: number): Answer => ({
    reasoning: `Step ${n}.`,
    toolCalls: [{ name: "note", arguments: { n }, id: `call_${n}` }],
  });
  // OpenAI makes the first step, then is overloaded. Anthropic makes the second, and OpenAI through the AI SDK ends it.
  await using openai = await loopbackOpenAI({ script: [step(1), OVERLOADED, OVERLOADED, "Done."] });
  await using anthropic = await loopbackAnthropic({ script: [step(2), OVERLOADED] });
  const place = { openaiURL: openai.url, anthropicURL: anthropic.url, apiKey: "sk-example-0123456789" };
  const went: string[] = [];
  const noted: number[] = [];
  const chat = new MiddlewarePipeline([
    fallback({
      models: [modelOf("anthropic", place), modelOf("ai-sdk", place)],
      onFallback: ({ from, to }) => went.push(`${from} to ${to}`),
    }),
  ]);
  const agent = new ReActAgent({
    name: "steady",
    model: modelOf("openai", place),
    middleware: { chat },
    tools: [
      defineTool({
        name: "note",
        description: "Notes a number.",
        input: z.object({ n: z.number() }),
        execute: ({ n }) => {
          noted.push(n);
          return `noted ${n}`;
        },
      }),
    ],
    settings: { reasoning: { effort: "low" } },
  });

  const result = await new Runtime().run(agent, "Go.").result;

  expect([result.status, result.output]).toEqual(["completed", "Done."]);
  expect(noted).toEqual([1, 2]);
  expect(went).toEqual([
    "openai/gpt-5.2 to anthropic/claude-sonnet-5",
    "openai/gpt-5.2 to anthropic/claude-sonnet-5",
    "anthropic/claude-sonnet-5 to openai/gpt-5.2",
  ]);
  const last = JSON.stringify(openai.requests.at(-1)?.body);
  expect(last).toContain("noted 1");
  expect(last).toContain("noted 2");
});
