import { describe, expect, test } from "vitest";
import * as z from "zod";
import { defineTool, type ModelRequest } from "@ravi/kernel";
import { ReActAgent } from "@ravi/react-agent";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { agent, done, governed, handOver, hands, model, PRICED } from "../src/leading.ts";

describe("a child cut off by budget, deadline, length or pause is never reported as success to its parent", () => {
  const look = defineTool({ name: "look", description: "", input: z.object({}), execute: () => "more" });
  const endless = () =>
    scriptedModel(
      ({ tools }: ModelRequest) =>
        tools === undefined ? "so far" : { text: "hm", toolCalls: [{ name: "look" }] },
      PRICED,
    );
  const looking = (options: object = {}) =>
    new ReActAgent({ name: "child", model: endless(), tools: [look], loopDetection: false, ...options });

  test.each([
    ["budget, in turns", looking(), { executionBudget: { maxTurns: 3 } }, /budget was used up.*so far/],
    ["budget, in dollars", looking(), { executionBudget: { maxCostUsd: 0.005 } }, /budget was used up/],
    ["budget, in tool calls", looking(), { executionBudget: { maxToolCalls: 2 } }, /budget was used up/],
    ["steps", looking({ maxSteps: 2 }), {}, /reached its maximum number of steps.*so far/],
    [
      "length",
      new ReActAgent({ name: "child", model: model([{ text: "It is", finishReason: "length" }]) }),
      {},
      /answer was too long.*It is/,
    ],
    [
      "refusal",
      new ReActAgent({ name: "child", model: model([{ text: "I will not", finishReason: "refused" }]) }),
      {},
      /\(refused\)/,
    ],
    [
      "a crash",
      agent("child", async () => {
        throw new TypeError("oops");
      }),
      {},
      /did not succeed: .*oops/,
    ],
  ])("%s", async (_, child, terms, text) => {
    const { told, result } = await handOver(hands(["child", "x"]), [{ agent: child, ...terms }]);
    expect(told).toEqual([{ text: expect.stringMatching(text), isError: true }]);
    expect(told[0]?.text).toMatch(/^error: /);
    expect(result.status).toBe("completed");
  });

  test.each([
    ["its deadline", { executionBudget: { deadlineS: 5 } }],
    ["the lead's patience", { askTimeoutS: 5 }],
  ])("%s", async (_, terms) => {
    const clock = virtualClock({ now: 0 });
    const hangs = agent("child", async (ctx) => {
      await ctx.sleepUntil(1e9);
      return done("never");
    });
    const running = handOver(
      hands(["child", "x"]),
      [{ agent: hangs, ...terms }],
      {},
      {},
      governed({ clock }),
    );
    await clock.advance(6_000);
    const { told } = await running;
    expect(told).toEqual([{ text: expect.stringMatching(/time was up|in time/), isError: true }]);
  });
});
