import { AgentId, CancellationError, type RunResult, RunId, SuspendedError } from "@ravi/kernel";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { type Agent, agent, inspect, run, start, tool } from "@ravi/sdk";
import { sdkResult } from "../src/run/result.ts";

/** What `run` gives for a result of the runtime. */
const given = (result: Partial<RunResult>) =>
  sdkResult(
    {
      runId: RunId("r"),
      status: "completed",
      output: "so far",
      usage: { inputTokens: 3, outputTokens: 2 },
      cost: 0.5,
      ...result,
    },
    { agentId: AgentId("clerk"), asked: undefined, log: { dropped: 0, of: () => [] } },
  );

test("`unwrap` throws the error of a cancelled run, and of a failed one", () => {
  const error = new CancellationError({ reason: "enough" });
  for (const status of ["cancelled", "failed"] as const)
    expect(() => given({ status, error }).unwrap()).toThrow(error);
});

test("`unwrap` of a suspended run says how to continue it, and why it is suspended", () => {
  const error = new SuspendedError({ reason: "version 2 is deployed" });
  const expected = `result.status is "suspended"; expected "completed" (${error.message}); call resume("r", …) to continue it`;
  expect(() => given({ status: "suspended", error }).unwrap()).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE", message: expected, cause: error }),
  );
});

test("`unwrap` of a run without a valid answer says where to look if nothing says what was wrong", () => {
  expect(() => given({ status: "partial", stopReason: "invalid" }).unwrap()).toThrow(
    "(stopReason invalid); each progress event outputMisfit says what did not fit; result.output has what was produced so far",
  );
  expect(() => given({ status: "partial", stopReason: "length" }).unwrap()).toThrow(
    "(stopReason length); result.output has what was produced so far",
  );
});

test("a result without accounts of its agents has all of it at the root", () => {
  const [root, ...others] = given({}).tree.agents();
  expect([root, others]).toMatchObject([{ agentId: "clerk", execId: "r", costUsd: 0.5 }, []]);
});

test("a result cannot be changed, and its JSON has what is in doubt", () => {
  const result = given({ inDoubt: ["r:tool:pay#1"] });
  expect(Object.isFrozen(result)).toBe(true);
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({ inDoubt: ["r:tool:pay#1"] });
});

const look = tool({ name: "look", description: "", input: z.object({}), execute: () => "seen" });

test("the JSON of a result has what the result has", () => {
  const stoppedBy = { dimension: "turns", used: 2, limit: 2, scope: "clerk" } as const;
  const partial = given({ status: "partial", stopReason: "budget", structured: { n: 1 }, stoppedBy });
  const { status, output, stopReason, structured, limits, usage, cost } = partial;
  const said = { status, output, stopReason, structured, stoppedBy, limits, usage, cost };
  expect(JSON.parse(JSON.stringify(partial))).toMatchObject(said);
  const error = new CancellationError({ reason: "enough" });
  const failed: unknown = JSON.parse(JSON.stringify(given({ status: "cancelled", error })));
  expect(failed).toMatchObject({ status: "cancelled", error: { code: "CANCELLED", message: error.message } });
});

test("where nothing limits the dollars, a model without a price is stopped by the other limits, and told so", async () => {
  const model = scriptedModel(() => ({ toolCalls: [{ name: "look", arguments: {} }] }));
  const result = await run(agent({ name: "clerk", model, tools: [look] }), "Look.", {
    budget: { usd: null, turns: 2 },
  });
  expect(result).toMatchObject({
    status: "partial",
    stopReason: "budget",
    stoppedBy: { dimension: "turns" },
  });
});

test("claims are made by the clock of the run", async () => {
  const journal = await mkdtemp(join(tmpdir(), "ravi-sdk-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
  const clock = virtualClock({ now: 5e12 });
  const begun = Promise.withResolvers<void>();
  const patient: Agent = {
    id: AgentId("patient"),
    async run(ctx) {
      begun.resolve();
      return { status: "completed", output: String(await ctx.waitFor("word")), stopReason: "done" };
    },
  };
  const handle = start(patient, "Go.", { journal, runId: "r", clock });
  await begun.promise;
  const { heldBy } = await inspect("r", { journal, clock });
  expect(heldBy?.expiresAt).toBeGreaterThan(5e12);
  await handle.suspend();
});
