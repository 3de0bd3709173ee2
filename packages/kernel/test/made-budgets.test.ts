import { describe, expect, test } from "vitest";
import { executionBudget, spawnBudget } from "@ravi/kernel";

describe("a budget is one that was made and checked", () => {
  const kinds = [
    ["executionBudget", executionBudget, { maxTokens: 5 }, "maxTokens"],
    ["spawnBudget", spawnBudget, { maxAgents: 5 }, "maxAgents"],
  ] as const;
  type Make = (options: object) => object;

  test.each(kinds)(
    "R5: a copy of a %s that kept its class is checked, and made anew",
    (_, factory, given, field) => {
      const make = factory as Make;
      const budget = make(given);
      const copy = (changed: object): object =>
        Object.assign(Object.create(Object.getPrototypeOf(budget) as object) as object, budget, changed);
      const again = make(copy({}));
      expect(again).toEqual(budget);
      expect(Object.isFrozen(again)).toBe(true);
      expect(() => make(copy({ [field]: -1 }))).toThrow(field);
      expect(() => make(Object.freeze(copy({ [field]: "many" })))).toThrow(field);
    },
  );

  test.each(kinds)("R5: an empty look-alike of a %s has no limits but the defaults", (_, factory, given) => {
    const make = factory as Make;
    const empty = Object.create(Object.getPrototypeOf(make(given)) as object) as object;
    expect(make(Object.freeze(empty))).toEqual(make({}));
  });

  test.each(kinds)("R5: a %s that was cloned, spread or read back is the same value", (_, factory, given) => {
    const make = factory as Make;
    const budget = make(given);
    expect(make(structuredClone(budget))).toEqual(budget);
    expect(make({ ...budget })).toEqual(budget);
    expect(Object.keys(budget)).not.toContain("toJSON");
    expect(factory.fromJSON(JSON.parse(JSON.stringify(budget)))).toEqual(budget);
  });

  test("R5: an heir of a budget is checked by what it says itself and what it inherits", () => {
    const heir: object = Object.create(executionBudget({ maxTokens: 5 }), {
      maxTokens: { value: 7, enumerable: true },
    });
    expect(executionBudget(heir)).toMatchObject({ maxTokens: 7 });
    expect(executionBudget(heir)).not.toBe(heir);
  });
});

test("a printed budget says which of the two it is", () => {
  expect(spawnBudget().constructor.name).toBe("SpawnBudgetValue");
  expect(executionBudget().constructor.name).toBe("ExecutionBudgetValue");
});
