import { expect, test } from "vitest";
import { type Agent, AgentId } from "@ravi/kernel";
import { Blackboard, Debate } from "../src/index.ts";

const named = (name: string): Agent => ({
  id: AgentId(name),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
});
const [a, b, c] = [named("a"), named("b"), named("c")];

test("a worker who is called like a role, and who has that role, are both declared", () => {
  const board = new Blackboard({ experts: { coordinator: a, "coordinator 2": b }, coordinator: c });
  expect(board.declaredWorkers()).toEqual({ coordinator: a, "coordinator 2": b, "coordinator 3": c });
  const debate = new Debate({ debaters: { judge: a, other: b }, judge: c });
  expect(debate.declaredWorkers()).toEqual({ judge: a, other: b, "judge 2": c });
  expect(new Debate({ debaters: { a, b }, judge: c }).declaredWorkers()).toEqual({ a, b, judge: c });
});
