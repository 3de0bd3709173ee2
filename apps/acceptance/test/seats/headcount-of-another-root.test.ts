import { expect, test } from "vitest";
import { type Agent, AgentId } from "@ravi/kernel";
import { Runtime } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";

// Every hire was denied, only the model that asked for it heard why, and the run said `completed`.

const child: Agent = {
  id: AgentId("child"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};
const lead: Agent = {
  id: AgentId("lead"),
  async run(ctx) {
    const { status } = await ctx.hire({ kind: "hire", agent: child, input: "" });
    return { status: "completed", output: status, stopReason: "done" };
  },
};

test("R14: a headcount that was made for another root is refused before anybody is hired", async () => {
  const other = AgentId("other");
  const wrong = new Runtime({
    headcount: ({ spawnBudget }) => new SpawnTracker(spawnBudget, { rootId: other }),
  });
  await expect(wrong.run(lead, "").result).rejects.toMatchObject({
    code: "INVALID_VALUE",
    message: expect.stringContaining(
      "whose root is lead, for example new SpawnTracker(root.spawnBudget, { rootId:",
    ),
  });
  const said = new Runtime({ headcount: (of) => new SpawnTracker(of.spawnBudget, { rootId: of.rootId }) });
  expect((await said.run(lead, "").result).output).toBe("completed");
});

test("R14: a headcount that was not told its root takes that of the run", async () => {
  const trackers: SpawnTracker[] = [];
  const runtime = new Runtime({
    headcount({ spawnBudget }) {
      const tracker = new SpawnTracker(spawnBudget);
      trackers.push(tracker);
      return tracker;
    },
  });
  const { result } = runtime.run(lead, "", { spawnBudget: { maxAgents: 2 } });
  expect((await result).output).toBe("completed");
  expect(trackers.map((tracker) => tracker.snapshot())).toMatchObject([{ total: 2, root: { id: "lead" } }]);
});
