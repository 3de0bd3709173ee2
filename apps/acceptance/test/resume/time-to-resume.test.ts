import { expect, test } from "vitest";
import * as z from "zod";
import {
  type Agent,
  AgentId,
  type AgentResult,
  defineTool,
  type Headcount,
  type Journal,
  type JournalRecord,
  RunId,
  type Supervision,
} from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal, Runtime, type RuntimeOptions } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";

// What a resume looks at is counted, not timed: with twice as much on record it looks at twice as much, and not at four times.

const RUN = RunId("long");
const done: AgentResult = { status: "completed", output: "done", stopReason: "done" };

/** Runs the agent until it waits for "go", breaks off, and goes on in another runtime with it. */
async function resumed(agent: Agent, journal: MemoryJournal, options: RuntimeOptions): Promise<unknown> {
  const first = new Runtime({ ...options, journal, agents: [agent] });
  const handle = first.run(agent, "", { runId: RUN });
  while (["pending", "running"].includes(handle.status))
    await new Promise((resolve) => setImmediate(resolve));
  await first.close();
  journal.post(RUN, { id: "go", kind: "signal", name: "go", value: true, at: 0 });
  const second = new Runtime({ ...options, journal: options.journal ?? journal, agents: [agent] });
  return (await second.resume(RUN).result).status;
}

const look = defineTool({
  name: "look",
  description: "",
  input: z.object({}),
  idempotent: true,
  execute: () => "seen",
});

/** How often the bodies of a run's entries are read while it is resumed. */
async function readsOf(calls: number): Promise<number> {
  const journal = new MemoryJournal();
  let reads = 0;
  const counted = (record: JournalRecord): JournalRecord => {
    const { body } = record;
    return Object.defineProperty({ ...record }, "body", {
      get: () => {
        reads++;
        return body;
      },
    });
  };
  const counting: Journal = {
    claim: (runId, owner, ttlMs) => journal.claim(runId, owner, ttlMs),
    release: (runId, epoch) => journal.release(runId, epoch),
    append: (runId, epoch, entries) => journal.append(runId, epoch, entries),
    load: (runId) => journal.load(runId).map(counted),
    post: (runId, item) => journal.post(runId, item),
    items: (runId, after) => journal.items(runId, after),
    list: () => journal.list(),
    delete: (runId) => journal.delete(runId),
    close: () => journal.close(),
  };
  const agent: Agent = {
    id: AgentId("careful"),
    async run(ctx) {
      for (let n = 0; n < calls; n++) {
        expect(ctx.budget.toolCalls).toBe(1_000 - n);
        await ctx.tool({ id: `c${n}`, name: "look", arguments: "{}" }, look);
      }
      await ctx.waitFor("go");
      return done;
    },
  };
  const ledger = () => new ExecutionTracker({ maxToolCalls: 1_000 });
  expect(await resumed(agent, journal, { ledger, journal: counting })).toBe("completed");
  return reads;
}

test("R18: an agent that looks at its budget before each call is resumed in time that grows with its record", async () => {
  const [few, many] = [await readsOf(40), await readsOf(80)];
  expect(many).toBeLessThan(few * 2.5);
});

/** How often a seat is asked for while a run is resumed whose helpers have stood in line for five seats. */
async function acquiresOf(helpers: number): Promise<number> {
  const helper: Agent = {
    id: AgentId("helper"),
    async run(ctx) {
      await ctx.record("work", () => true);
      return done;
    },
  };
  const agent: Agent = {
    id: AgentId("lead"),
    async run(ctx) {
      const hire = { kind: "hire", agent: helper, input: "", onFull: "queue" } as const;
      const outcomes = await ctx.batch(Array.from({ length: helpers }, () => hire));
      expect(outcomes.every(({ status }) => status === "completed")).toBe(true);
      await ctx.waitFor("go");
      return done;
    },
  };
  let acquires = 0;
  const headcount = ({ agentId }: Supervision): Headcount => {
    const seats = new SpawnTracker({ maxAgents: 6 }, { rootId: agentId });
    acquires = 0;
    return new Proxy(seats, {
      get(target, name) {
        if (name === "acquire") acquires++;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  expect(await resumed(agent, new MemoryJournal(), { headcount })).toBe("completed");
  return acquires;
}

test("R24: helpers that stood in line are seated again in time that grows with their number", async () => {
  const [few, many] = [await acquiresOf(40), await acquiresOf(80)];
  expect(many).toBeLessThan(few * 2.5);
});
