import { describe, expect, test } from "vitest";
import { type Agent, AgentId } from "@ravi/kernel";
import { Runtime, type RuntimeOptions } from "@ravi/runtime";
import { MemoryJournal } from "../../src/journal/memory-journal.ts";
import { bytesOf, perTurn } from "./counting.ts";
import { everything } from "./everything.ts";
import { worker } from "./worker.ts";

// What is allocated has to be collected: half of the time of a governed run goes that way. Bounds are half as much again as what
// was counted when they were set, since an engine decides by itself what it spares.

const ran = (options: () => RuntimeOptions) => (turns: number) => {
  const agent = worker(turns);
  const runtime = new Runtime(options());
  return bytesOf(async () => expect((await runtime.run(agent, "go").result).output).toBe("done"));
};

const child: Agent = {
  id: AgentId("child"),
  run: async () => ({ status: "completed", output: "", stopReason: "done" }),
};

/** Hires that many, one after the other. */
function lead(hires: number): Agent {
  return {
    id: AgentId("lead"),
    async run(ctx) {
      for (let n = 0; n < hires; n++) await ctx.hire({ agent: child, input: "" });
      return { status: "completed", output: "done", stopReason: "done" };
    },
  };
}

describe("what a turn and a hire allocate", () => {
  test("a bare turn: 1.7 kB", async () => {
    expect((await perTurn(ran(() => ({})))).turn).toBeLessThanOrEqual(2_600);
  });

  test("a turn with everything on: 10.9 kB", async () => {
    expect((await perTurn(ran(() => everything(new MemoryJournal())))).turn).toBeLessThanOrEqual(16_400);
  });

  test("a bare hire of somebody who does nothing: 6.4 kB", async () => {
    const runtime = new Runtime();
    const { turn: hire } = await perTurn((hires) => {
      const agent = lead(hires);
      return bytesOf(() => runtime.run(agent, "").result);
    });
    expect(hire).toBeLessThanOrEqual(9_600);
  });

  test("a counter that sees nothing would hold every bound: a large object is seen", async () => {
    const kept: unknown[] = [];
    const bytes = await bytesOf(async () => void (kept[0] = Array.from({ length: 2_000 }, () => ({}))));
    expect(bytes).toBeGreaterThan(2_000 * 16);
  });
});
