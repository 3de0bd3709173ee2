import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Agent, AgentId, type Ledger } from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { Runtime } from "@ravi/runtime";
import { meter } from "../support/priced.ts";
import { agentsOf, all, leadOf, World } from "../support/scarce.ts";

// Many calls that need the money of several of the users' own ledgers at once, which have room for one call at a time.

/** What a call takes. It reserves ten cents. */
const PRICE = 0.0001;
/** Each helper asks its model twice. */
const CALLS = 2;

/** A team that spends from all of these ledgers: each is given to one agent, and the first one to the uppermost. */
function below(name: string, [own, ...more]: readonly Ledger[], team: readonly Agent[]): Agent {
  const one = leadOf(more.length === 0 ? team : [below(`${name}+`, more, team)]);
  return { ...one, id: AgentId(name), defaults: { executionBudget: own } };
}

function scene(helpers: number) {
  const world = new World();
  const calls = helpers * CALLS;
  const scarce = (scope: string): ExecutionTracker =>
    new ExecutionTracker({ maxCostUsd: 0.1 + calls * PRICE }, { scope, reserve: false, clock: world.clock });
  const team = (count: number): Agent[] =>
    Array.from({ length: count }, (_, n) => world.helper(`h${n}`, CALLS));
  const rules = { ...world.rules, meter: { ...meter, price: () => ({ usd: PRICE }) } };
  const begin = (root: Agent) => new Runtime(rules).run(root, "", { executionBudget: { maxCostUsd: 5 } });
  const asked = vi.spyOn(ExecutionTracker.prototype, "reserve");
  onTestFinished(() => asked.mockRestore());
  world.provider.open();
  const left = (ledger: ExecutionTracker) => {
    const { cost, turns } = ledger.used;
    return { open: ledger.open, cost, turns };
  };
  return { world, scarce, team, begin, left, asked: () => asked.mock.calls.length / calls };
}

describe("R18: calls that take the same ledgers in different orders", () => {
  test("R18: of two branches with fifty helpers each, all end, and a call changes lines at most a few times", async () => {
    const { world, scarce, team, begin, left, asked } = scene(100);
    const [acme, today] = [scarce("acme"), scarce("today")];
    const branches = [below("a", [acme, today], team(50)), below("b", [today, acme], team(50))];
    const result = await begin(leadOf(branches)).result;
    expect(agentsOf(result).map(({ status }) => status)).toEqual(all("completed", 105).split(" "));
    for (const ledger of [acme, today]) expect(left(ledger)).toEqual({ open: 0, cost: 0.02, turns: 200 });
    expect([world.provider.sent, world.provider.most, world.clock.pending]).toEqual([200, 1, 0]);
    expect(asked()).toBeLessThan(15);
  });

  test("R18: of four runs with three ledgers each, in four orders, all end, and a call changes lines at most a few times", async () => {
    const { world, scarce, team, begin, left, asked } = scene(100);
    const [a, b, c] = [scarce("a"), scarce("b"), scarce("c")];
    const orders = [
      [a, b, c],
      [b, c, a],
      [c, a, b],
      [c, b, a],
    ];
    const runs = orders.map((order) => begin(below("root", order, team(25))));
    for (const { result } of runs)
      expect(agentsOf(await result).map(({ status }) => status)).toEqual(all("completed", 28).split(" "));
    for (const ledger of [a, b, c]) expect(left(ledger)).toEqual({ open: 0, cost: 0.02, turns: 200 });
    expect([world.provider.sent, world.provider.most, world.clock.pending]).toEqual([200, 1, 0]);
    expect(asked()).toBeLessThan(20);
  });
});
