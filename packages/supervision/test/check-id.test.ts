import fc from "fast-check";
import { expect, test } from "vitest";
import { AgentId, isRaviError, Priority } from "@ravi/kernel";
import { SpawnTracker } from "@ravi/supervision";
import { anyText } from "@ravi/testing/suites";
import { checkAgentId } from "../src/headcount/parts/check-id.ts";

function isMadeByKernel(text: string): boolean {
  const [name = "", ...rest] = text.split("/");
  return accepts(() => (rest.length === 0 ? AgentId(name) : AgentId(name, rest.join("/"))));
}

function accepts(check: () => unknown): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (isRaviError(error, "INVALID_VALUE")) return false;
    throw error;
  }
}

test("R15: an id is taken exactly if the kernel could have made it", () => {
  const signs = fc.constantFrom("a", "Z", "7", "-", "/", " ", "~", "\u007f", "\n", "é", "🙂", "\ud800");
  const texts = fc.oneof(
    fc.array(signs, { maxLength: 6 }).map((some) => some.join("")),
    fc.nat(1_100).map((length) => "x".repeat(length)),
    fc.tuple(fc.nat(520), fc.nat(520)).map(([a, b]) => `${"x".repeat(a)}/${"y".repeat(b)}`),
    anyText(),
  );
  const property = fc.property(texts, (text) => {
    expect(accepts(() => checkAgentId("agentId", text))).toBe(isMadeByKernel(text));
  });
  fc.assert(property, { numRuns: 1_000 });
});

test("R15: what is no text is no id", () => {
  for (const value of [undefined, null, 7, {}, ["lead"]]) {
    expect(accepts(() => checkAgentId("agentId", value))).toBe(false);
  }
});

test.each([null, 5, "", "a/", {}])("R14: a first hire by %j is refused, and names no root", (parentId) => {
  const headcount = new SpawnTracker();
  expect(() => headcount.acquire(AgentId("a"), Priority.NORMAL, { parentId: parentId as never })).toThrow(
    expect.objectContaining({ code: "INVALID_VALUE" }),
  );
  expect(headcount.held).toBe(1);
  expect(headcount.nameRoot(AgentId("lead"))).toBe(true);
  expect(SpawnTracker.restore(headcount.snapshot()).nameRoot(AgentId("lead"))).toBe(true);
});
