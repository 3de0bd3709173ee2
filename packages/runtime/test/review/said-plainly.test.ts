import { describe, expect, test } from "vitest";
import { bareContext } from "@ravi/kernel/loop";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, done } from "./helpers.ts";

// What agents say to each other is read from the journal after a crash. What it cannot keep would be something else then: NaN was null.

const clerk = agent("clerk", async (_, inbox) => {
  const message = await inbox.receive();
  const failure = await inbox.reply(message, Number.NaN).then(() => "none", String);
  await inbox.reply(message, { failure, unset: undefined });
  return done("");
});
const lead = agent("lead", async (ctx) => {
  const handle = await ctx.spawn(clerk, { input: "" });
  const asked = await ctx.ask(handle, new Date(0) as never).catch(String);
  const { failure } = (await ctx.ask(handle, { well: undefined, rounded: Math.round(-0.2) })) as {
    failure: string;
  };
  return done(`${String(asked)} | ${failure}`);
});
const REFUSED = /ask\.message.*plain object.* \| .*inbox\.reply.*a finite number/s;

describe("what a journal cannot keep is refused, and what it can is said", () => {
  test.each([
    ["on a journal", { journal: new MemoryJournal() }],
    ["without one", {}],
  ])("R23: %s", async (_, services) => {
    expect((await new Runtime(services).run(lead, "").result).output).toMatch(REFUSED);
  });

  test("R23: in a bare context", async () => {
    const ctx = bareContext();
    const outcome = await ctx.hire({ agent: lead, input: "" });
    expect("result" in outcome && outcome.result.output).toMatch(REFUSED);
  });
});
