import { expect, test } from "vitest";
import { AgentId, Priority } from "@ravi/kernel";
import { MemberIndex } from "../src/headcount/parts/member-index.ts";
import { Member } from "../src/headcount/member.ts";

function member(name: string, order: number): Member {
  return new Member({ id: AgentId(name), depth: 1, order, priority: Priority.NORMAL });
}

test("R15: an index lists who is there in the order of hiring, also after an id was used again", () => {
  const index = new MemberIndex();
  for (const [order, name] of ["a", "b", "c"].entries()) index.add(member(name, order));
  index.remove(AgentId("a"));
  expect(index.get(AgentId("a"))).toBeUndefined();
  index.add(member("a", 3));
  expect(index.list().map(({ id }) => id)).toEqual(["b", "c", "a"]);
});

test("R15: names of those who ended do not pile up", () => {
  const index = new MemberIndex();
  for (let n = 0; n < 10_000; n++) {
    index.add(member(`agent${n}`, n));
    if (n >= 10) index.remove(AgentId(`agent${n - 10}`));
  }
  expect(index.list()).toHaveLength(10);
  expect(index.names).toBeLessThan(200);
});
