import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, AgentId, type LLMClient } from "@ravi/kernel";
import { Runtime, SqliteJournal } from "@ravi/runtime";
import { figure, table } from "./harness/table.ts";

// How long it takes to resume a run of 100,000 entries, and a check that resuming calls no model.

const EFFECTS = 50_000;

async function measure(bytes: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), "ravi-resume-"));
  let calls = 0;
  const model: LLMClient = {
    id: "fake",
    info: { provider: "fake", model: "fake" },
    generate: async () => {
      calls++;
      return { message: { role: "assistant", content: "x".repeat(bytes) }, finishReason: "stop" };
    },
  };
  const agent: Agent = {
    id: AgentId("long"),
    async run(ctx) {
      for (let call = 0; call < EFFECTS; call++) {
        await ctx.llm(model, { messages: [{ role: "user", content: "go" }] });
      }
      return { status: "completed", output: JSON.stringify(await ctx.waitFor("end")), stopReason: "done" };
    },
  };
  try {
    const first = SqliteJournal.open(folder);
    const runtime = new Runtime({ journal: first });
    const started = performance.now();
    const handle = runtime.run(agent, "", { runId: "long" });
    while (handle.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 5));
    const live = performance.now() - started;
    await runtime.close();
    await first.close();
    assert.equal(calls, EFFECTS);

    const second = SqliteJournal.open(folder);
    const again = new Runtime({ journal: second, agents: [agent] });
    await again.deliver("long", "end", "over");
    const from = performance.now();
    const result = await again.resume("long").result;
    const resumed = performance.now() - from;
    assert.equal(result.output, '"over"');
    assert.equal(calls, EFFECTS);
    await second.close();
    return [
      `${bytes} bytes an answer`,
      figure(live),
      figure((EFFECTS / live) * 1000),
      figure(resumed),
      String(calls - EFFECTS),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function resume(): Promise<void> {
  const rows = [await measure(10), await measure(1_000)];
  console.log(
    table(["50,000 model calls of one run", "live, ms", "effects/s", "resumed, ms", "calls made"], rows),
  );
}
