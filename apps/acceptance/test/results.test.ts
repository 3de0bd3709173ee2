import { describe, expect, test } from "vitest";
import { AgentId, type Agent, type AgentResult } from "@ravi/kernel";
import { ParallelFlow, SequentialFlow } from "@ravi/flow";
import { MemoryJournal } from "@ravi/runtime";
import { agent, done, governed, handOver, hands, model } from "../src/leading.ts";

const WEIRD: readonly (readonly [string, unknown])[] = [
  ["nothing", undefined],
  ["null", null],
  ["a text", "done"],
  ["an empty object", {}],
  ["a status that is none", { status: "ok", output: "x", stopReason: "done" }],
  ["a status of a run", { status: "failed", output: "x", stopReason: "done" }],
  ["no output", { status: "completed", stopReason: "done" }],
  ["an output that is no text", { status: "completed", output: { a: 1 }, stopReason: "done" }],
];

describe("R12: an agent that returns what is no result has failed", () => {
  test.each(WEIRD)("as a helper of a lead: %s", async (_, value) => {
    const child = agent("child", async () => value as AgentResult);
    const { told, result } = await handOver(hands(["child", "x"]), [{ agent: child }]);
    expect(told).toEqual([{ text: expect.stringMatching(/^error: child/), isError: true }]);
    expect(result.status).toBe("completed");
    expect(result.agents?.[1]?.status).toBe("failed");
  });

  test.each(WEIRD)("as a step of a flow: %s", async (_, value) => {
    const child = agent("child", async () => value as AgentResult);
    const flow = new ParallelFlow({
      name: "flow",
      branches: [child, agent("other", async () => done("other"))],
    });
    const result = await governed({ journal: new MemoryJournal() }).run(flow, "go").result;
    expect(result).toMatchObject({ status: "partial" });
    expect(result.structured).toMatchObject([{ name: "child", status: "failed" }, { status: "completed" }]);
  });

  test.each(WEIRD)("as a root: %s", async (_, value) => {
    const root = agent("root", async () => value as AgentResult);
    const result = await governed({ journal: new MemoryJournal() }).run(root, "go").result;
    expect(result.status).toBe("failed");
  });
});

describe("a child that says that it was cut off is no success, whatever its status says", () => {
  test.each(["budget", "deadline", "steps", "length", "refused", "filtered", "loop", "paused"] as const)(
    "completed, but stopped by %s",
    async (stopReason) => {
      const child = agent("child", async () => ({ status: "completed", output: "half", stopReason }));
      const { told } = await handOver(hands(["child", "x"]), [{ agent: child }]);
      expect(told[0]?.isError).toBe(true);
      const flow = new SequentialFlow({ name: "flow", steps: [child] });
      expect((await governed().run(flow, "go").result).status).toBe("partial");
      expect((await governed().run(child, "go").result).status).toBe("partial");
    },
  );
});

test("R12: a context that is kept after the end is refused, and pays for nothing", async () => {
  const said = model(() => "x");
  const kept: { use?: () => Promise<unknown> } = {};
  const keeps: Agent = {
    id: AgentId("keeps"),
    async run(ctx) {
      kept.use = () => ctx.llm(said, { messages: [{ role: "user", content: "late" }] });
      return done("x");
    },
  };
  let late: unknown;
  const lead = agent("lead", async (ctx) => {
    await ctx.hire({ agent: keeps, input: "" });
    late = await kept.use?.().catch((error: unknown) => error);
    return done("y");
  });
  for (const services of [{}, { journal: new MemoryJournal() }]) {
    const result = await governed(services).run(lead, "go").result;
    expect(late).toBeInstanceOf(Error);
    expect(said.calls).toHaveLength(0);
    expect(result.usage.inputTokens).toBe(0);
    const root = await governed(services).run(keeps, "go").result;
    expect(root.status).toBe("completed");
    expect(await kept.use?.().catch((error: unknown) => error)).toBeInstanceOf(Error);
    expect(said.calls).toHaveLength(0);
  }
});
