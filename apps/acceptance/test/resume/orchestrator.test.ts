import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type Agent, defineTool, type JournalRecord, RunId, textOf } from "@ravi/kernel";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { MemoryJournal } from "@ravi/runtime";
import { RetryPolicy } from "@ravi/supervision";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, done, governed, hands, model } from "../../src/leading.ts";

describe("R24: a crash in the middle, after any entry of the journal", () => {
  const RUN = "r";
  const look = defineTool({
    name: "look",
    description: "",
    input: z.object({ at: z.string() }),
    idempotent: true,
    execute: ({ at }) => `seen ${at}`,
  });

  /** A lead with a researcher, a helper that crashes once, and one that the model defines. Every paid call is counted. */
  function team(): { readonly lead: Agent; readonly paid: () => number } {
    const models = [
      model(({ messages }) => {
        const results = messages.filter(({ role }) => role === "tool").map(textOf);
        if (results.length === 0) {
          const { toolCalls = [] } = hands(["researcher", "Bern"], ["flaky", "try"]) as { toolCalls?: [] };
          const helper = { name: "scout", instructions: "You scout.", tools: ["look"], task: "Basel" };
          return { toolCalls: [...toolCalls, { name: "hire_helper", arguments: helper }] };
        }
        return `all: ${results.join(", ")}`;
      }),
      model(({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === "tool") return textOf(last);
        return { toolCalls: [{ name: "look", arguments: { at: last === undefined ? "" : textOf(last) } }] };
      }),
      model(() => "tried"),
    ] as const;
    const researcher = new ReActAgent({ name: "researcher", model: models[1], tools: [look] });
    const flaky = agent("flaky", async (ctx, { input }) => {
      await ctx.llm(models[2], { messages: [{ role: "user", content: input }] });
      if (ctx.execId.endsWith("#1")) throw new TypeError("the first time it crashes");
      return done("worked");
    });
    const lead = new OrchestratorAgent({
      name: "lead",
      model: models[0],
      subAgents: [{ agent: researcher }, { agent: flaky }],
      dynamicHiring: { tools: [look], model: models[1] },
      retryPolicy: new RetryPolicy({ maxRetries: 2, baseMs: 0 }),
    });
    return { lead, paid: () => models.reduce((sum, { calls }) => sum + calls.length, 0) };
  }

  const ends = (records: readonly JournalRecord[]): number =>
    records.filter(({ key, phase }) => key.startsWith("llm:") && phase === "end").length;

  test("goes on to the same answer, pays nothing twice, and hires the same people again", async () => {
    const journal = new MemoryJournal();
    const first = team();
    const whole = await governed({ journal }).run(first.lead, "go", { runId: RUN }).result;
    expect(whole).toMatchObject({ status: "completed", output: "all: seen Bern, worked, seen Basel" });
    expect(first.paid()).toBe(8);
    const records = journal.load(RunId(RUN));
    expect(records.length).toBeGreaterThan(30);
    for (let count = 1; count <= records.length; count++) {
      const before = records.slice(0, count);
      const { lead, paid } = team();
      const runtime = governed({ journal: cutJournal(RUN, before), agents: [lead] });
      const result = await runtime.resume(RUN).result;
      expect({ count, status: result.status, output: result.output }).toEqual({
        count,
        status: "completed",
        output: whole.output,
      });
      expect({ count, paid: paid() }).toEqual({ count, paid: 8 - ends(before) });
    }
  });
});
