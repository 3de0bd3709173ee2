import { Priority, type RunEvent } from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { scriptedModel } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { agent, resume, run, team } from "@ravi/sdk";

// A lead is told what became of its members, and may end well without them. So its `completed` says nothing about them.

const TASKS = ["fine", "cheap", "broken", "slow", "late"].map((name) => ({
  name: `handoff_${name}`,
  arguments: { task: "go" },
}));

/** A team whose members all end in another way; `late` finds no slot. */
const made = () => {
  const loops = agent({
    name: "cheap",
    model: scriptedModel(() => ({ toolCalls: [{ name: "none" }] })),
    budget: { turns: 2 },
  });
  const broken = agent({
    name: "broken",
    model: scriptedModel(() => {
      throw new Error("out of order");
    }),
  });
  const slow = agent({ name: "slow", model: scriptedModel(() => ({ text: "", fault: { type: "hang" } })) });
  const says = (name: string) => agent({ name, model: scriptedModel(() => `${name} is done`) });
  return team({
    name: "lead",
    retryPolicy: false,
    model: scriptedModel([{ toolCalls: TASKS }, "Good enough."]),
    members: [says("fine"), loops, broken, { agent: slow, askTimeoutS: 0.01 }, says("late")],
  });
};

const OPTIONS = { tree: { agents: 5 }, retry: false } as const;
const CUT_OFF = [
  ["cheap/2", "partial"],
  ["broken/3", "failed"],
  ["slow/4", "partial"],
  ["late/5", "denied"],
];

describe("whoever was cut off", () => {
  test("is found in the tree of a run that completed without them", async () => {
    const result = await run(made(), "Go", { ...OPTIONS, journal: new MemoryJournal() });
    expect(result.status).toBe("completed");
    const cutOff = result.tree.agents().filter(({ status }) => status !== "completed");
    expect(cutOff.map(({ agentId, status }) => [agentId, status])).toEqual(CUT_OFF);
    expect(String(result.tree)).toMatch(/cheap\/2 +partial/);
  });

  test("is found in the result that is read again later", async () => {
    const journal = new MemoryJournal();
    const first = await run(made(), "Go", { ...OPTIONS, journal });
    const again = await resume(first.runId, { agents: made(), journal });
    const cutOff = again.tree.agents().filter(({ status }) => status !== "completed");
    expect(cutOff.map(({ agentId, status }) => [agentId, status])).toEqual(CUT_OFF);
  });

  test("is found as paused, if somebody more urgent has taken the slot", async () => {
    const low = agent({ name: "low", model: scriptedModel(() => ({ toolCalls: [{ name: "none" }] })) });
    const high = agent({ name: "high", model: scriptedModel(["urgent"]) });
    const tasks = ["low", "high"].map((name) => ({ name: `handoff_${name}`, arguments: { task: "go" } }));
    const lead = team({
      name: "lead",
      model: scriptedModel([{ toolCalls: tasks }, "Good enough."]),
      members: [
        { agent: low, onPreempt: "return" },
        { agent: high, priority: Priority.HIGH },
      ],
    });
    const result = await run(lead, "Go", { tree: { agents: 2 } });
    expect(result.tree.agents().map(({ agentId, status }) => [agentId, status])).toEqual([
      ["lead", "completed"],
      ["low/1", "paused"],
      ["high/2", "completed"],
    ]);
  });

  test("is found in the events, with the reason", async () => {
    const found = new Map<string, string>();
    const onEvent = ({ agentId, event }: RunEvent): void => {
      if (event.type === "completed" && event.result.status !== "completed")
        found.set(agentId, `${event.result.status}: ${event.result.stopReason}`);
      if (event.type === "error") found.set(agentId, `${event.error.code}: ${event.error.message}`);
      if (event.type === "progress" && event.name === "hireDenied")
        found.set("denied", JSON.stringify(event.data));
    };
    await run(made(), "Go", { ...OPTIONS, onEvent });
    expect(Object.fromEntries(found)).toEqual({
      "cheap/2": "partial: budget",
      "broken/3": "TOOL_ERROR: broken/3 failed: out of order",
      "slow/4": "partial: deadline",
      denied: expect.stringMatching(/"to":"late".* raise maxAgents/),
    });
  });
});
