import { describe, expect, test } from "vitest";
import * as z from "zod";
import { type Agent, defineTool, type JsonValue, RunId, textOf } from "@ravi/kernel";
import { HookEvent, HookManager } from "@ravi/hooks";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal } from "@ravi/runtime";
import { cutJournal } from "../src/cut-journal.ts";
import { governed, hands, model } from "../src/leading.ts";

describe("R18: spending beyond the budget is asked for, from any depth", () => {
  const RUN = "r";
  const ASKED = "approval:budget:r/hire:middle#1/hire:worker#1";

  /** A worker two levels down that needs five calls and may make three, of which one is for its last turn. */
  function team() {
    const look = defineTool({
      name: "look",
      description: "",
      input: z.object({ n: z.number() }),
      idempotent: true,
      execute: ({ n }) => `look ${n}`,
    });
    const worker = new ReActAgent({
      name: "worker",
      // By what it has seen, not by the number of the call, so that a resumed run asks the same.
      model: model(({ messages, tools }) => {
        const seen = messages.filter(({ role }) => role === "tool").length;
        if (tools === undefined) return `only ${seen}`;
        return seen < 4 ? { toolCalls: [{ name: "look", arguments: { n: seen } }] } : "seen it all";
      }),
      tools: [look],
      onBudget: "ask",
    });
    const relay = (name: string, to: string, below: Agent, terms: object = {}): OrchestratorAgent =>
      new OrchestratorAgent({
        name,
        model: model(({ messages }) => {
          const last = messages.at(-1);
          return last?.role === "tool" ? textOf(last) : hands([to, "go"]);
        }),
        subAgents: [{ agent: below, askTimeoutS: null, ...terms }],
      });
    const middle = relay("middle", "worker", worker, { executionBudget: { maxTurns: 3 } });
    return { lead: relay("lead", "middle", middle) };
  }
  const start = { runId: RUN, executionBudget: { maxTurns: 30 } };

  /** Runs it with these answers, which are there before anybody asks; gives what was asked. */
  async function answered(...answers: readonly JsonValue[]) {
    const hooks = new HookManager();
    const asked: string[] = [];
    hooks.on(HookEvent.APPROVAL_REQUESTED, ({ name, question }) => void asked.push(`${name} ${question}`));
    const runtime = governed({ journal: new MemoryJournal(), hooks });
    const handle = runtime.run(team().lead, "go", start);
    for (const answer of answers) await runtime.deliver(RUN, ASKED, answer);
    return { result: await handle.result, asked };
  }

  test("with more granted the worker goes on", async () => {
    const { result, asked } = await answered({ turns: 4 });
    expect(result).toMatchObject({ status: "completed", output: "seen it all" });
    expect(asked).toEqual([
      expect.stringMatching(
        /^approval:budget:r\/hire:middle#1\/hire:worker#1 worker.* asks for more: .*turns.*\{"turns": 5\}/,
      ),
    ]);
  });

  test("refused, it lands, and its lead hears that it was cut off", async () => {
    const { result } = await answered(false);
    expect(result.output).toMatch(/^error: worker was cut off .*Its result so far: only 2/);
  });

  test.each<[string, JsonValue]>([
    ["a yes without an amount", true],
    ["a misspelt dimension", { turn: 4 }],
    ["half a turn", { turns: 0.5 }],
    ["a negative amount", { turns: -4 }],
    ["nothing", { turns: 0 }],
    ["more than there is", { cost: 1e300 }],
    ["a list", [4]],
    ["a text", "4 turns"],
  ])("%s grants nothing and is asked for again", async (_, answer) => {
    const { result, asked } = await answered(answer, { turns: 4 });
    expect(result.output).toBe("seen it all");
    expect(asked).toHaveLength(2);
    expect(asked[1]).toContain("is not a valid amount");
  });

  test("another process may answer a day later: the run waits on record, and goes on with what was granted", async () => {
    const journal = new MemoryJournal();
    const first = governed({ journal });
    const waiting = first.run(team().lead, "go", start);
    for await (const { event } of waiting.events())
      if (event.type === "progress" && event.name === "approvalRequested") break;
    await first.close();
    expect((await waiting.result).status).toBe("suspended");
    const { lead } = team();
    const second = governed({ journal, agents: [lead] });
    await second.deliver(RUN, ASKED, { turns: 4 });
    expect(await second.resume(RUN).result).toMatchObject({ status: "completed", output: "seen it all" });
  });

  test("after a crash at any entry the limits are what they were: nothing is granted twice, nothing is lost", async () => {
    const journal = new MemoryJournal();
    const runtime = governed({ journal });
    const handle = runtime.run(team().lead, "go", start);
    await runtime.deliver(RUN, ASKED, { turns: 4 });
    const whole = await handle.result;
    const records = journal.load(RunId(RUN));
    expect(records.filter(({ key }) => key.startsWith("raise:"))).toHaveLength(1);
    for (let count = 1; count <= records.length; count++) {
      const { lead } = team();
      const ledgers: ExecutionTracker[] = [];
      const ledger = (root: { executionBudget: object; rootId: string }): ExecutionTracker => {
        const made = new ExecutionTracker(root.executionBudget, { scope: root.rootId });
        ledgers.push(made);
        return made;
      };
      const resumed = governed({ journal: cutJournal(RUN, records.slice(0, count)), agents: [lead], ledger });
      const going = resumed.resume(RUN);
      await resumed.deliver(RUN, ASKED, { turns: 4 });
      const result = await going.result;
      expect({ count, status: result.status, output: result.output }).toEqual({
        count,
        status: whole.status,
        output: whole.output,
      });
      const last = ledgers.at(-1);
      if (last !== undefined) expect({ count, limit: last.budget.maxTurns }).toEqual({ count, limit: 34 });
    }
  });
});
