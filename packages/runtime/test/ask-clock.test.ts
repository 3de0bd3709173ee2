import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  BudgetExhaustedError,
  defineTool,
  type Journal,
  type RunContext,
  RunId,
} from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { agent, cut, done, FakeLedger, turns } from "./support/helpers.ts";

const pay = defineTool({
  name: "pay",
  description: "",
  input: z.object({}),
  needsApproval: true,
  execute: () => "paid",
});
const payment = { id: "c", name: "pay", arguments: "{}" };

/** Waits for a person, and then works for `seconds`. */
function worker(wait: (ctx: RunContext) => Promise<unknown>, seconds: number): Agent {
  return agent("worker", async (ctx) => {
    await wait(ctx);
    await ctx.sleepUntil((await ctx.now()) + seconds * 1_000);
    return done("done after all");
  });
}

function lead(child: Agent, onTimeout: "cancel" | "leave" = "cancel"): Agent {
  return agent("lead", async (ctx) => {
    const outcome = await ctx.hire({ agent: child, input: "", timeoutS: 10, onTimeout });
    return done("result" in outcome ? `${outcome.status} ${outcome.result.output}` : outcome.status);
  });
}

const HOUR = 3_600_000;
const WORD = "word";

describe("R8: the time in which a child waits for a person does not count for the time limit of its hire", () => {
  test.each<[string, (ctx: RunContext) => Promise<unknown>]>([
    ["waitFor", (ctx) => ctx.waitFor(WORD)],
    ["an approval", (ctx) => ctx.tool(payment, pay)],
  ])("%s", async (_, wait) => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const run = runtime.run(lead(worker(wait, 9)), "", { runId: "r" });
    await turns();
    await clock.advance(HOUR);
    const [waiting] = (await runtime.list())[0]?.waitingFor ?? [];
    await runtime.deliver("r", waiting?.name ?? "", true);
    await turns();
    await clock.advance(9_500);
    expect((await run.result).output).toBe("completed done after all");
  });

  test("afterwards the rest of its time runs on", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const child = agent("worker", async (ctx) => {
      await ctx.sleepUntil(4_000);
      await ctx.waitFor(WORD);
      await ctx.sleepUntil(HOUR * 9);
      return done("too late");
    });
    const run = runtime.run(lead(child, "leave"), "", { runId: "r" });
    await turns();
    await clock.advance(HOUR);
    await runtime.deliver("r", WORD, true);
    await turns();
    await clock.advance(5_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("timedOut");
    expect(clock.now()).toBe(HOUR + 6_500);
  });

  test("a request for more budget", async () => {
    const clock = virtualClock();
    const refusal = new BudgetExhaustedError({ dimension: "turns", limit: 1, used: 1, scope: "worker" });
    const child = agent("worker", async (ctx) =>
      done(`granted ${String(await ctx.requestBudget?.(refusal))}`),
    );
    const ledger = Object.assign(new FakeLedger(), { raise() {}, child: () => ledger });
    const runtime = new Runtime({ clock, ledger: () => ledger });
    const run = runtime.run(lead(child), "", { runId: "r" });
    await turns();
    await clock.advance(HOUR);
    await runtime.deliver("r", "approval:budget:r/hire:worker#1", false);
    expect((await run.result).output).toBe("completed granted false");
  });

  test("also if it is someone below the child who waits; two who wait at once are counted once", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const leaf = agent("leaf", async (ctx, inbox) => done(String(await ctx.waitFor(inbox.input))));
    const child = agent("worker", async (ctx) => {
      const leaves = ["a", "b"].map((input) => ({ kind: "hire", agent: leaf, input }) as const);
      await ctx.batch(leaves);
      await ctx.sleepUntil(HOUR * 9);
      return done("too late");
    });
    const run = runtime.run(lead(child, "leave"), "", { runId: "r" });
    await turns();
    await clock.advance(HOUR);
    await runtime.deliver("r", "a", true);
    await clock.advance(HOUR);
    await runtime.deliver("r", "b", true);
    await turns();
    await clock.advance(9_000);
    expect(run.status).toBe("running");
    await clock.advance(1_500);
    expect((await run.result).output).toBe("timedOut");
  });

  test("what a sibling waits for counts for nobody else", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const waiting = agent("waiting", async (ctx) => done(String(await ctx.waitFor(WORD))));
    const idle = agent("idle", async (ctx) => {
      await ctx.sleepUntil(HOUR);
      return done("");
    });
    const boss = agent("boss", async (ctx) => {
      await ctx.spawn(waiting, { input: "" });
      return done((await ctx.hire({ agent: idle, input: "", timeoutS: 10 })).status);
    });
    const run = runtime.run(boss, "", { runId: "r" });
    await turns();
    await clock.advance(11_000);
    expect((await run.result).output).toBe("partial");
  });

  test("nor what someone below a sibling waits for, however alike their names are", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const leaf = agent("leaf", async (ctx) => done(String(await ctx.waitFor(WORD))));
    const clerk = agent("clerk", async (ctx, { input }) => {
      if (input === "1") await ctx.sleepUntil(HOUR);
      if (input === "2" || input === "10") await ctx.hire({ agent: leaf, input: "" });
      return done(input);
    });
    const boss = agent("boss", async (ctx) => {
      const [first] = await ctx.batch(
        Array.from({ length: 10 }, (_, at) => {
          const hire = { kind: "hire", agent: clerk, input: String(at + 1) } as const;
          return at === 0 ? { ...hire, timeoutS: 10, onTimeout: "leave" as const } : hire;
        }),
      );
      return done(String(first?.status));
    });
    const run = runtime.run(boss, "", { runId: "r" });
    await turns(50);
    await clock.advance(11_000);
    for (let n = 0; n < 2; n++) await runtime.deliver("r", WORD, true);
    expect((await run.result).output).toBe("timedOut");
  });

  test("while it waits, no timer of its hire fires", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const run = runtime.run(lead(worker((ctx) => ctx.waitFor(WORD), 1)), "", { runId: "r" });
    await turns();
    await clock.advance(10_000);
    expect(clock.pending).toBe(0);
    await runtime.deliver("r", WORD, true);
    await turns();
    await clock.advance(1_000);
    expect((await run.result).status).toBe("completed");
  });
});

describe("R8: after a restart", () => {
  async function broken(how: "crash" | "suspend") {
    const clock = virtualClock({ now: 1_000 });
    const journal = new MemoryJournal({ clock });
    const agents = [
      lead(
        worker(async (ctx) => {
          await ctx.waitFor("first");
          await ctx.waitFor(WORD);
        }, 9),
      ),
    ];
    const [boss] = agents;
    if (boss === undefined) throw new Error("no boss");
    const first = new Runtime({ clock, journal });
    first.run(boss, "", { runId: "r" });
    await turns();
    await clock.advance(HOUR);
    await first.deliver("r", "first", true);
    await turns();
    await clock.advance(HOUR);
    const left: Journal = how === "crash" ? cut("r", journal.load(RunId("r"))) : journal;
    const closing = first.close();
    await clock.advance(5_000);
    await closing;
    await clock.advance(HOUR);
    return { clock, second: new Runtime({ clock, journal: left, agents }) };
  }

  test.each(["crash", "suspend"] as const)(
    "%s: the time in which it waited for a person before does not count either",
    async (how) => {
      const { clock, second } = await broken(how);
      const run = second.resume("r");
      await turns(50);
      await clock.advance(HOUR);
      await second.deliver("r", WORD, true);
      await turns(50);
      await clock.advance(9_500);
      expect((await run.result).output).toBe("completed done after all");
    },
  );

  test.each(["crash", "suspend"] as const)("%s: nor if it was answered meanwhile", async (how) => {
    const { clock, second } = await broken(how);
    await second.deliver("r", WORD, true);
    const run = second.resume("r");
    await turns(50);
    await clock.advance(9_500);
    expect((await run.result).output).toBe("completed done after all");
  });
});

describe("R8: after a restart the time in which nobody waits for a person counts", () => {
  const leaf = agent("leaf", async (ctx, { input }) => done(String(await ctx.waitFor(input))));
  const rest = async (ctx: RunContext) => {
    await ctx.sleepUntil(HOUR * 99);
    return done("too late");
  };
  const waitFor = (wait: (ctx: RunContext) => Promise<unknown>): Agent =>
    agent("worker", async (ctx) => {
      await wait(ctx);
      return rest(ctx);
    });

  test.each<[string, Agent, readonly string[]]>([
    ["waitFor", waitFor((ctx) => ctx.waitFor(WORD)), [WORD]],
    ["an approval", waitFor((ctx) => ctx.tool(payment, pay)), ["approval"]],
    ["someone below", waitFor((ctx) => ctx.hire({ agent: leaf, input: WORD })), [WORD]],
    [
      "two at once",
      waitFor((ctx) => ctx.batch(["a", "b"].map((input) => ({ kind: "hire", agent: leaf, input }) as const))),
      ["a", "b"],
    ],
    [
      "someone below who was stopped",
      waitFor(async (ctx) => {
        const handle = await ctx.spawn(leaf, { input: "never" });
        await ctx.sleepUntil(1_000 + HOUR);
        handle.cancel("enough");
        await ctx.join(handle);
      }),
      [],
    ],
  ])("%s", async (_, child, answers) => {
    const clock = virtualClock({ now: 1_000 });
    const journal = new MemoryJournal({ clock });
    const boss = lead(child, "leave");
    const first = new Runtime({ clock, journal });
    first.run(boss, "", { runId: "r" });
    for (const answer of answers) {
      await turns(50);
      await clock.advance(HOUR);
      const [waiting] = (await first.list())[0]?.waitingFor ?? [];
      await first.deliver("r", answer === "approval" ? (waiting?.name ?? "") : answer, true);
    }
    await turns(50);
    if (answers.length === 0) await clock.advance(HOUR);
    await turns(50);
    await clock.advance(8_000);
    const left = cut("r", journal.load(RunId("r")));
    const run = new Runtime({ clock, journal: left, agents: [boss] }).resume("r");
    await turns(50);
    await clock.advance(1_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("timedOut");
    await first.close();
  });
});

describe("R8: the time in which the run is suspended does not count for the time limit of a hire", () => {
  const rest = agent("worker", async (ctx) => {
    await ctx.sleepUntil(HOUR * 99);
    return done("too late");
  });

  /** Works for four seconds, is suspended for an hour, and is resumed. */
  async function afterAnHour(boss: Agent, lives: number) {
    const clock = virtualClock({ now: 1_000 });
    const journal = new MemoryJournal({ clock });
    const runtimeOf = () => new Runtime({ clock, journal, agents: [boss] });
    let runtime = runtimeOf();
    let run = runtime.run(boss, "", { runId: "r" });
    for (let life = 0; life < lives; life++) {
      await turns(50);
      await clock.advance(4_000);
      const closing = runtime.close();
      await clock.advance(0);
      await closing;
      expect((await run.result).status).toBe("suspended");
      await clock.advance(HOUR);
      runtime = runtimeOf();
      run = runtime.resume("r");
    }
    await turns(50);
    return { clock, run };
  }

  test("what is left of its time runs on when it is resumed", async () => {
    const { clock, run } = await afterAnHour(lead(rest, "leave"), 1);
    await clock.advance(5_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("timedOut");
  });

  test("however often", async () => {
    const { clock, run } = await afterAnHour(lead(rest, "leave"), 2);
    await clock.advance(1_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("timedOut");
  });

  test("nor for that of a question", async () => {
    const boss = agent("boss", async (ctx) => {
      const handle = await ctx.spawn(rest, { input: "" });
      return done(await ctx.ask(handle, "well?", { timeoutS: 10 }).then(() => "a reply", String));
    });
    const { clock, run } = await afterAnHour(boss, 1);
    await clock.advance(5_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toContain("did not reply within 10 s");
  });
});

describe("R8: the time in which no process has the run does not count for the time limit of a hire", () => {
  const rest = agent("worker", async (ctx) => {
    await ctx.sleepUntil(HOUR * 99);
    return done("too late");
  });
  const boss = agent("boss", async (ctx) => {
    const hire = { agent: rest, input: "", timeoutS: 60, onTimeout: "leave" } as const;
    return done((await ctx.hire(hire)).status);
  });

  /** Works for 25 seconds, the last sign of life after 15, is dead for an hour, and is resumed. */
  async function afterDeaths(deaths: number) {
    const clock = virtualClock({ now: 1_000 });
    const journal = new MemoryJournal({ clock });
    for (let life = 0; life < deaths; life++) {
      // A process that dies is one whose time stands still.
      const own = virtualClock({ now: clock.now() });
      const runtime = new Runtime({ clock: own, journal, agents: [boss] });
      const dying = life === 0 ? runtime.run(boss, "", { runId: "r" }) : runtime.resume("r");
      dying.result.catch(() => {});
      await turns(50);
      for (let s = 0; s < 25; s += 5) {
        await clock.advance(5_000);
        await own.advance(5_000);
      }
      await clock.advance(HOUR);
    }
    const run = new Runtime({ clock, journal, agents: [boss] }).resume("r");
    await turns(50);
    return { clock, run };
  }

  test("but that up to its last sign of life does", async () => {
    const { clock, run } = await afterDeaths(1);
    await clock.advance(44_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("timedOut");
  });

  test("however often it dies", async () => {
    const { clock, run } = await afterDeaths(2);
    await clock.advance(29_500);
    expect(run.status).toBe("running");
    await clock.advance(1_000);
    expect((await run.result).output).toBe("timedOut");
  });
});

describe("R23: a question to a child", () => {
  test("is not asked with an option that nobody knows, such as a time limit under another name", async () => {
    const boss = agent("boss", async (ctx) => {
      const handle = await ctx.spawn(
        agent("clerk", async (_, inbox) => done(String((await inbox.take()) ?? "nothing"))),
        { input: "" },
      );
      return done(await ctx.ask(handle, "well?", { timeoutMs: 10 } as never).then(String, String));
    });
    expect((await new Runtime().run(boss, "").result).output).toContain("ask options.timeoutMs");
  });

  test("its time stands still too while the child waits for a person, also if it did so before it was asked", async () => {
    const clock = virtualClock();
    const runtime = new Runtime({ clock });
    const clerk = agent("clerk", async (ctx, inbox) => {
      const word = await ctx.waitFor(WORD);
      await inbox.reply(await inbox.receive(), word);
      return done("");
    });
    const boss = agent("boss", async (ctx) => {
      const handle = await ctx.spawn(clerk, { input: "" });
      await ctx.sleepUntil(5_000);
      return done(String(await ctx.ask(handle, "well?", { timeoutS: 10 })));
    });
    const run = runtime.run(boss, "", { runId: "r" });
    await turns();
    await clock.advance(5_000);
    await turns();
    await clock.advance(HOUR);
    await runtime.deliver("r", WORD, "yes");
    expect((await run.result).output).toBe("yes");
  });
});

describe("R8: each hire of a batch has its own time limit", () => {
  /** Hires one for each limit. Each works for 20 seconds. Gives their statuses, and when each was cut off. */
  async function cutOff(limits: readonly number[]): Promise<readonly string[]> {
    const clock = virtualClock();
    const ends: string[] = [];
    const slow = agent("slow", async (ctx, inbox) => {
      try {
        await ctx.sleepUntil(20_000);
        return done("done");
      } finally {
        ends.push(`${inbox.input} at ${clock.now()}`);
      }
    });
    const boss = agent("lead", async (ctx) => {
      const leaves = limits.map(
        (timeoutS) => ({ kind: "hire", agent: slow, input: `${timeoutS}`, timeoutS }) as const,
      );
      await ctx.batch(leaves);
      return done("");
    });
    const run = new Runtime({ clock }).run(boss, "");
    await clock.runAll();
    await run.result;
    expect(clock.pending).toBe(0);
    return ends;
  }

  test("whatever their order", async () => {
    const expected = ["2 at 2000", "5 at 5000", "9 at 9000", "30 at 20000"];
    expect(await cutOff([5, 2, 30, 9])).toEqual(expected);
    expect(await cutOff([2, 5, 9, 30])).toEqual(expected);
    expect(await cutOff([30, 9, 5, 2])).toEqual(expected);
  });

  test("also if it is the same for two", async () => {
    expect(await cutOff([5, 5, 2])).toEqual(["2 at 2000", "5 at 5000", "5 at 5000"]);
  });

  test("also if a callback of another fails when that one is cut off", async () => {
    const clock = virtualClock();
    const ends: number[] = [];
    const hasty = agent("hasty", async (ctx) => {
      ctx.meta.cancellation.onCancel(() => {
        throw new Error("a callback");
      });
      await ctx.sleepUntil(20_000);
      return done("");
    });
    const slow = agent("slow", async (ctx) => {
      await ctx.sleepUntil(20_000).finally(() => ends.push(clock.now()));
      return done("");
    });
    const boss = agent("lead", async (ctx) => {
      const limits = [[hasty, 5] as const, [slow, 5] as const, [slow, 9] as const];
      await ctx.batch(limits.map(([of, timeoutS]) => ({ kind: "hire", agent: of, input: "", timeoutS })));
      return done("");
    });
    const run = new Runtime({ clock }).run(boss, "");
    await expect(clock.runAll()).rejects.toThrow("a callback");
    await clock.runAll();
    await run.result;
    expect(ends).toEqual([5_000, 9_000]);
  });

  test("also if a callback of one fails whose time was up when it began to wait for a person", async () => {
    const clock = virtualClock();
    const idle = agent("idle", async (ctx) => {
      await ctx.sleepUntil(HOUR);
      return done("");
    });
    const hasty = agent("hasty", async (ctx) => {
      ctx.meta.cancellation.onCancel(() => {
        throw new Error("a callback");
      });
      await ctx.sleepUntil(10_000);
      await ctx.waitFor(WORD);
      await ctx.sleepUntil(9 * HOUR);
      return done("");
    });
    const middle = agent("middle", async (ctx) => {
      // The one timer of all is set anew at 5 s, so that at 10 s `hasty` begins to wait before it is checked.
      await ctx.batch([
        { kind: "hire", agent: idle, input: "", timeoutS: 5 },
        { kind: "hire", agent: hasty, input: "", timeoutS: 10 },
      ]);
      await ctx.sleepUntil(9 * HOUR);
      return done("");
    });
    const boss = agent("boss", async (ctx) => {
      const child = await ctx.spawn(middle, { input: "" });
      const silence = await ctx.ask(child, "how far?", { timeoutS: 15 }).catch(() => "no answer");
      return done(String(silence));
    });
    const runtime = new Runtime({ clock });
    const run = runtime.run(boss, "", { runId: "r" });
    await turns();
    await clock.advance(HOUR);
    await runtime.deliver("r", WORD, true);
    await turns();
    await expect(clock.advance(0)).rejects.toThrow("a callback");
    await clock.advance(4_999);
    expect(run.status).toBe("running");
    await clock.advance(1);
    expect([(await run.result).output, clock.now()]).toEqual(["no answer", HOUR + 5_000]);
  });
});
