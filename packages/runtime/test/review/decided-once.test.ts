import { expect, test } from "vitest";
import type { RestartPolicy } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { virtualClock } from "@ravi/testing";
import { agent, done, hangingPayer, until, within } from "./helpers.ts";

// Somebody decides that a tool in doubt is made again. It is, and then the root crashes while it is under way: another go at the run
// must not take the same decision for the new doubt.

test("T5: a decision is for one call, and not for the next in doubt under the same key", async () => {
  const clock = virtualClock();
  const crash = Promise.withResolvers<void>();
  let payments = 0;
  let goes = 0;
  const payer = hangingPayer(() => payments++);
  const lead = agent("lead", async (ctx) => {
    const handle = await ctx.spawn(payer, { input: "" });
    if (++goes === 2) {
      await crash.promise;
      throw new Error("a bug");
    }
    await ctx.join(handle);
    return done("ok");
  });
  const journal = new MemoryJournal();
  const first = new Runtime({ journal, clock });
  const { result } = first.run(lead, "", { runId: "r" });
  await until(() => payments === 1);
  const closing = first.close();
  await clock.advance(200);
  await closing;
  expect((await result).status).toBe("suspended");

  const restart: RestartPolicy = { shouldRetry: () => true, delayMs: () => 0, reset() {} };
  const second = new Runtime({ journal, clock, restart, agents: [lead] });
  const resumed = second.resume("r", { decisions: { "r/hire:payer#1:tool:pay#1": "retry" } });
  await until(() => payments === 2);
  crash.resolve();
  for (let n = 0; n < 5; n++) await clock.advance(100);
  expect(await within(resumed.result)).toMatchObject({
    status: "suspended",
    error: { code: "NEEDS_DECISION" },
  });
  expect(payments).toBe(2);
});
