import { describe, expect, test } from "vitest";
import { type Agent, RunId } from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { virtualClock } from "@ravi/testing";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, done, governed, handOver, hands, model } from "../../src/leading.ts";

const JOURNALS = [
  ["with a journal", () => ({ journal: new MemoryJournal() })],
  ["without one", () => ({})],
] as const;

describe("R16: who waits for a seat is not late", () => {
  test.each(JOURNALS)("%s: ten tasks of a minute each at cap 3 are all done", async (_, services) => {
    const clock = virtualClock({ now: 0 });
    const slow = agent("slow", async (ctx, { input }) => {
      await ctx.sleepUntil((await ctx.now()) + 60_000);
      return done(`did ${input}`);
    });
    const ten = hands(...Array.from({ length: 10 }, (__, n) => ["slow", `task ${n}`] as const));
    const running = handOver(
      ten,
      [{ agent: slow, onFull: "queue" }],
      {},
      { spawnBudget: { maxAgents: 3 } },
      governed({ clock, ...services() }),
    );
    await clock.advance(600_000);
    const { told } = await running;
    expect(told).toEqual(Array.from({ length: 10 }, (__, n) => ({ text: `did task ${n}`, isError: false })));
  });

  test.each(JOURNALS)(
    "%s: a deadline is counted from the hire, also while there is no seat",
    async (_, services) => {
      const clock = virtualClock({ now: 0 });
      const first = agent("first", async (ctx) => {
        await ctx.sleepUntil(50_000);
        return done("first");
      });
      const second = agent("second", async (ctx) => {
        await ctx.sleepUntil(90_000);
        return done("second");
      });
      const running = handOver(
        hands(["first", "x"], ["second", "y"]),
        [{ agent: first }, { agent: second, onFull: "queue", executionBudget: { deadlineS: 60 } }],
        {},
        { spawnBudget: { maxAgents: 2 } },
        governed({ clock, ...services() }),
      );
      await clock.advance(200_000);
      const { told } = await running;
      expect(told[1]).toEqual({ text: expect.stringMatching(/time was up/), isError: true });
    },
  );
});

test.each(JOURNALS)(
  "R16, %s: one whose parent was stopped before it began is not pending for ever",
  async (_, services) => {
    const child = agent("child", async () => done("x"));
    const parent = agent("parent", async (ctx) => {
      const hired = ctx.hire({ agent: child, input: "" });
      ctx.meta.cancellation.cancel("enough");
      return done((await hired).status);
    });
    const { result } = await handOver(
      hands(["parent", "x"]),
      [{ agent: parent }],
      {},
      {},
      governed(services()),
    );
    expect(result.agents?.map(({ status }) => status)).toEqual(["completed", "cancelled", "cancelled"]);
  },
);

describe("R24: seats are where they were after a crash", () => {
  /** Whom to hire, all at once, and what then. */
  const boss = (name: string, team: readonly Agent[]): Agent =>
    agent(name, async (ctx, { input }) => {
      const outcomes = await ctx.batch(
        team.map((member) => ({ kind: "hire", agent: member, input, onFull: "queue" }) as const),
      );
      return done(outcomes.map((one) => ("result" in one ? one.result.output : one.status)).join(" "));
    });

  test("one who had waited for its seat and has it keeps it before those whom it has hired", async () => {
    const said = model(() => "x");
    const worker = (name: string, calls: number): Agent =>
      agent(name, async (ctx) => {
        for (let n = 0; n < calls; n++)
          await ctx.llm(said, { messages: [{ role: "user", content: `${name} ${n}` }] });
        return done(name);
      });
    const make = (): Agent =>
      boss("lead", [worker("a", 1), worker("b", 1), boss("q", [worker("c", 3), worker("d", 3)])]);
    const journal = new MemoryJournal();
    const start = { runId: "r", spawnBudget: { maxAgents: 3 } };
    const whole = await governed({ journal }).run(make(), "go", start).result;
    expect(whole.output).toBe("a b c d");
    const records = journal.load(RunId("r"));
    for (let count = 2; count <= records.length; count++) {
      let seats: SpawnTracker | undefined;
      const resumed = governed({
        journal: cutJournal("r", records.slice(0, count)),
        agents: [make()],
        headcount: (root) => (seats = new SpawnTracker(root.spawnBudget, { rootId: root.rootId })),
      });
      const handle = resumed.resume("r");
      const result = await Promise.race([handle.result, turns(300)]);
      expect({ count, result: result?.output }).toEqual({ count, result: "a b c d" });
      expect({ count, held: seats?.held ?? 1 }).toEqual({ count, held: 1 });
    }
  });
});

async function turns(most: number): Promise<undefined> {
  for (let n = 0; n < most; n++) await new Promise((resolve) => setImmediate(resolve));
  return undefined;
}
