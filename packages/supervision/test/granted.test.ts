import { AgentId, Priority } from "@ravi/kernel";
import { expect, test } from "vitest";
import { granted } from "../src/headcount/parts/granted.ts";
import { Member } from "../src/headcount/member.ts";

test("R15: whoever stops waiting for an agent's slot leaves nothing behind, and the others go on waiting", async () => {
  const member = new Member({ id: AgentId("a"), depth: 1, order: 1, priority: Priority.NORMAL });
  const controller = new AbortController();
  const left = granted(member, controller.signal);
  const stays = granted(member, undefined);
  controller.abort();
  await expect(left).rejects.toMatchObject({ code: "CANCELLED" });
  expect(member.waiters).toHaveLength(1);
  for (const waiter of member.waiters ?? []) waiter.granted();
  await expect(stays).resolves.toBe(undefined);
});
