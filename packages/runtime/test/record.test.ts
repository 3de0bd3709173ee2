import { describe, expect, test } from "vitest";
import { isRaviError, type JsonValue, RunId } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { World } from "./engine/world.ts";
import { agent, cut, done } from "./support/helpers.ts";

describe("R24: ctx.record, a fact of the agent's own", () => {
  test("R24: made once, and read ever after, whatever entry it crashed after", async () => {
    let made = 0;
    const keeper = agent("keeper", async (ctx) => {
      const first = await ctx.record("weather", () => `sun ${++made}`);
      const second = await ctx.record("weather", async () => ({ rain: [++made, null] }));
      await ctx.waitFor("go on");
      return done(JSON.stringify([first, second]));
    });
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, agents: [keeper] });
    await runtime.deliver("r", "go on", true);
    const whole = await runtime.run(keeper, "", { runId: "r" }).result;
    expect(whole.output).toBe('["sun 1",{"rain":[2,null]}]');
    const records = journal.load(RunId("r")).filter(({ key }) => key !== "run:status");
    const at = records.findIndex(({ key }) => key === "record:weather#2");
    for (let count = at + 1; count <= records.length; count++) {
      const again = new Runtime({ journal: cut("r", records.slice(0, count)), agents: [keeper] });
      await again.deliver("r", "go on", true);
      expect((await again.resume("r").result).output).toBe(whole.output);
    }
    expect(made).toBe(2);
  });

  test("R24: that it could not be made is a fact too, and the way that was taken then is taken again", async () => {
    let tries = 0;
    const careful = agent("careful", async (ctx) => {
      try {
        await ctx.record("page", () => {
          if (++tries === 1) throw new RangeError("no such page");
          return "a page";
        });
        return done("read it");
      } catch (error) {
        await ctx.record("instead", () => "another");
        await ctx.waitFor("go on");
        return done(String(error));
      }
    });
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, agents: [careful] });
    const handle = first.run(careful, "", { runId: "r" });
    await first.close();
    expect((await handle.result).status).toBe("suspended");
    const second = new Runtime({ journal, agents: [careful] });
    await second.deliver("r", "go on", true);
    expect((await second.resume("r").result).output).toBe("RangeError: no such page");
    expect(tries).toBe(1);
  });

  test.each([
    ["on a journal", () => new Runtime({ journal: new MemoryJournal() })],
    ["without one", () => new Runtime()],
  ])("R24: what is not plain JSON is refused %s, and so is a name that is none", async (_, make) => {
    const sloppy = agent("sloppy", async (ctx) => {
      const codes: string[] = [];
      const values: unknown[] = [undefined, Number.NaN, new Date(0), { f: () => 1 }];
      for (const value of values) {
        try {
          await ctx.record("odd", () => value as JsonValue);
        } catch (error) {
          codes.push(isRaviError(error) ? error.code : "other");
        }
      }
      expect(() => ctx.record("", () => 1)).toThrow(/ctx.record name is ""/);
      expect(() => ctx.record("x".repeat(201), () => 1)).toThrow(/1 to 200 characters/);
      return done(codes.join(" "));
    });
    const { output } = await make().run(sloppy, "").result;
    expect(output).toBe("INVALID_VALUE INVALID_VALUE INVALID_VALUE INVALID_VALUE");
  });

  test("R24: a large fact is kept whole", async () => {
    const text = "ä".repeat(3_000_000);
    const keeper = agent("keeper", async (ctx) => {
      const read = await ctx.record("book", () => text);
      await ctx.waitFor("go on");
      return done(String(read === text));
    });
    const journal = new MemoryJournal();
    const first = new Runtime({ journal, agents: [keeper] });
    const handle = first.run(keeper, "", { runId: "r" });
    await first.close();
    await handle.result;
    const second = new Runtime({ journal, agents: [keeper] });
    await second.deliver("r", "go on", true);
    expect((await second.resume("r").result).output).toBe("true");
  });

  test("R24: it has the one lane: nothing of the context is used while a fact is made", async () => {
    const hasty = agent("hasty", async (ctx) => {
      const slow = ctx.record(
        "slow",
        () => new Promise<string>((resolve) => setImmediate(() => resolve("a"))),
      );
      await expect(ctx.waitFor("x")).rejects.toMatchObject({ code: "LANE_VIOLATION" });
      expect(() => ctx.record("beside it", () => "b")).toThrow(
        /began record:beside it#1 while record:slow#1/,
      );
      return done(String(await slow));
    });
    const outcome = await new Runtime({ journal: new MemoryJournal() }).run(hasty, "").result;
    expect(outcome).toMatchObject({ status: "completed", output: "a" });
  });

  test("R24: an engine that records by position keeps it too", async () => {
    let made = 0;
    const keeper = agent("keeper", async (ctx) => done(String(await ctx.record("n", () => ++made))));
    const world = new World({ clock: { ...virtualClock({ now: 0 }) } });
    world.dieAt = 5;
    expect(await world.run(keeper, "")).toMatchObject({ result: { output: String(made) } });
  });
});
