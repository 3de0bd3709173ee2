import { expect, test } from "vitest";
import { HookEvent, type Hooks, type LLMClient, type ModelResponse } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { Runtime } from "@ravi/runtime";
import { agent, ask, done, turns, until } from "../support/helpers.ts";

/** A provider whose client throws an error of its own when it is aborted, as most do. */
const abortable = (asked: () => void): LLMClient => ({
  id: "abortable",
  info: { provider: "x", model: "abortable" },
  generate: (_, options) =>
    new Promise<ModelResponse>((_resolve, reject) => {
      asked();
      options?.signal?.addEventListener("abort", () => reject(new Error("Request was aborted.")));
    }),
});

test("R9: a run that is cancelled in a call is cancelled, whatever error the provider's client throws", async () => {
  const clock = virtualClock();
  let asked = false;
  const lead = agent("lead", async (ctx) => {
    await ctx.llm(
      abortable(() => (asked = true)),
      ask("x"),
    );
    return done("");
  });
  const run = new Runtime({ clock }).run(lead, "");
  await until(() => asked);
  run.cancel("enough");
  await clock.advance(1_000);
  expect((await run.result).status).toBe("cancelled");
});

test("R9: the end of an agent that was given up is told once, also when it settles after all", async () => {
  const clock = virtualClock();
  const held = Promise.withResolvers<void>();
  const ends: unknown[] = [];
  const hooks: Hooks = {
    has: () => true,
    dispatch: (event, payload) => {
      if (event === HookEvent.RUN_END && "status" in payload) ends.push(payload.status);
    },
    drain: () => undefined,
  };
  const stubborn = agent("stubborn", async () => {
    await held.promise;
    return done("late");
  });
  const handle = new Runtime({ clock, hooks }).run(stubborn, "");
  await turns();
  handle.cancel("enough");
  await clock.advance(1_000);
  expect((await handle.result).status).toBe("cancelled");
  held.resolve();
  await turns();
  await clock.advance(1_000);
  expect(ends).toEqual(["cancelled"]);
});
