import { expect, test } from "vitest";
import {
  BudgetExhaustedError,
  type Ledger,
  type MaybePromise,
  type Reservation,
  type ReserveOptions,
} from "@ravi/kernel";
import { promised } from "../../src/promises/rejected.ts";
import { withAgentLedger, withExtraOf } from "../../src/tree/ledgers.ts";
import { agent, done, FakeLedger, turns } from "../support/helpers.ts";

// A call that needs the money of two ledgers waits in the line of one of them.

const refusal = new BudgetExhaustedError({
  dimension: "tokens",
  used: 1,
  limit: 1,
  scope: "s",
  waitable: true,
});

/** Answers as it is told to, and writes down what it was asked and what was given back. */
class Told extends FakeLedger {
  readonly asked: string[] = [];
  isFull = false;
  /** Gives the call that waits its turn. */
  turn: () => void = () => expect.fail("nobody waits");

  override reserve(_: unknown, { onFull = "deny", onTurn }: ReserveOptions = {}): Reservation {
    return this.answer(onFull, onTurn) as Reservation;
  }

  private answer(onFull: string, onTurn: ReserveOptions["onTurn"]): MaybePromise<Reservation> {
    this.asked.push(onFull);
    const reservation: Reservation = {
      settle: () => ({ warnings: [], exceeded: [] }),
      cancel: () => void this.asked.push("given back"),
    };
    if (!this.isFull) return reservation;
    if (onFull === "deny") throw refusal;
    const { promise, resolve } = Promise.withResolvers<Reservation>();
    const taken = (): Reservation => {
      onTurn?.();
      return reservation;
    };
    this.turn = () => resolve(promised(taken));
    return promise;
  }
}

function joint(run: Ledger, own: Ledger): Ledger {
  const payer = { ...agent("payer", async () => done("")), defaults: { executionBudget: own } };
  return withAgentLedger(payer, run) ?? expect.fail("there is no ledger");
}

test("R18: it takes from the other in the tick of its turn, so that nobody can come between", async () => {
  const [run, own] = [new Told(), new Told()];
  run.isFull = true;
  const reserving = joint(run, own).reserve({ tokens: 1 }, { onFull: "queue" });
  await turns();
  expect([run.asked, own.asked]).toEqual([["queue"], []]);
  run.turn();
  expect(own.asked, "at once").toEqual(["deny"]);
  await reserving;
  expect([run.asked, own.asked]).toEqual([["queue"], ["deny"]]);
});

test("R18: if the other has no room then, it waits there, and holds nothing", async () => {
  const [run, own] = [new Told(), new Told()];
  run.isFull = own.isFull = true;
  const reserving = joint(run, own).reserve({ tokens: 1 }, { onFull: "queue" });
  await turns();
  run.turn();
  run.isFull = false;
  await turns();
  expect([run.asked, own.asked]).toEqual([["queue"], ["deny", "queue"]]);
  own.turn();
  await reserving;
  expect(run.asked).toEqual(["queue", "deny"]);
});

/** Writes down by name when it is asked and when it is given back. */
class Named extends FakeLedger {
  private readonly name: string;
  private readonly log: string[];
  /** Until then it does not say that it has settled. */
  settling: Promise<void> | undefined;

  constructor(name: string, log: string[]) {
    super();
    this.name = name;
    this.log = log;
  }

  override child(): this {
    return this;
  }

  override reserve(): Reservation {
    const { name, log } = this;
    log.push(`+${name}`);
    const giveBack = (): void => void log.push(`-${name}`);
    return {
      settle: async () => {
        giveBack();
        await this.settling;
        return { warnings: [], exceeded: [] };
      },
      cancel: giveBack,
    };
  }
}

test("R18: however they are nested, they are asked in one order, and given back to in the opposite one", async () => {
  const log: string[] = [];
  const [run, a, b, c] = [
    new Named("run", log),
    new Named("a", log),
    new Named("b", log),
    new Named("c", log),
  ];
  const known = joint(joint(joint(run, a), b), c);
  const other = joint(joint(joint(run, c), b), a);
  const resumed = [known, other].map((one) => withExtraOf(one, run.child(), "helper"));
  const all = [known, other, other.child({}, "helper"), ...resumed];
  for (const end of ["settle", "cancel"] as const)
    for (const ledger of all) {
      await (await ledger.reserve({ tokens: 1 }))[end]({});
      expect(log.splice(0).join(" ")).toBe("+run +a +b +c -c -b -a -run");
    }
});

test.each([
  ["the run's", 0],
  ["the user's", 1],
])("R18: if %s ledger is slow to settle, it does not keep what is held in the other", async (_, slow) => {
  const log: string[] = [];
  const [run, own] = [new Named("run", log), new Named("own", log)];
  const held = await joint(run, own).reserve({ tokens: 1 });
  const names = log.splice(0);
  const late = Promise.withResolvers<void>();
  (slow === 0 ? run : own).settling = late.promise;
  const settled = held.settle({});
  expect(log.toSorted(), "in one tick").toEqual(["-own", "-run"]);
  late.resolve();
  expect([names, await settled]).toEqual([["+run", "+own"], { warnings: [], exceeded: [] }]);
});
