import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Agent,
  AgentId,
  type HireOutcome,
  type Leaf,
  type ModelRequest,
  Priority,
  ProviderError,
  textOf,
} from "@ravi/kernel";
import { OrchestratorAgent, type SubAgentConfig } from "@ravi/orchestrator";
import { ExecutionTracker } from "@ravi/resources";
import { MemoryJournal } from "@ravi/runtime";
import { RetryPolicy, SpawnTracker } from "@ravi/supervision";
import { agent, done, governed, hands, model } from "../src/leading.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 100;

/** What one agent will do: call a model a few times, hand work to a team of its own, and end in some way. */
interface Fate {
  readonly end: "done" | "partial" | "crash" | "provider";
  readonly calls: number;
  readonly terms: Omit<SubAgentConfig, "agent">;
  readonly team: readonly Fate[];
}

const terms = fc.record({
  priority: fc.constantFrom(Priority.BACKGROUND, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL),
  onFull: fc.constantFrom("deny", "queue"),
  onPreempt: fc.constantFrom("park", "return"),
  askTimeoutS: fc.constant(null),
});
const { fate } = fc.letrec<{ fate: Fate }>((tie) => ({
  fate: fc.record({
    end: fc.constantFrom("done", "done", "partial", "crash", "provider"),
    calls: fc.nat(2),
    terms,
    team: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant([]),
      fc.array(tie("fate"), { minLength: 1, maxLength: 4 }),
    ),
  }),
}));
const trees = fc.array(fate, { minLength: 1, maxLength: 6 });

/** What every lead of a tree was told, and by whom. */
interface Heard {
  readonly name: string;
  readonly end: Fate["end"] | "lead";
  readonly text: string;
  readonly isError: boolean;
}

function build(name: string, team: readonly Fate[], heard: Heard[], atEachCall: () => void): Agent {
  const members = team.map((one, n) => ({ one, name: `${name}_${n}` }));
  const answer = ({ messages }: ModelRequest) => {
    atEachCall();
    const results = messages.filter((message) => message.role === "tool");
    if (results.length === 0) return hands(...members.map((member) => [member.name, "go"] as const));
    for (const [at, message] of results.entries()) {
      const member = members[at];
      const end = member === undefined || member.one.team.length > 0 ? "lead" : member.one.end;
      heard.push({ name: member?.name ?? "", end, text: textOf(message), isError: message.isError === true });
    }
    return `ok:${name}`;
  };
  return new OrchestratorAgent({
    name,
    model: model(answer),
    subAgents: members.map(({ one, name: own }) => ({
      agent: one.team.length > 0 ? build(own, one.team, heard, atEachCall) : worker(own, one, atEachCall),
      ...one.terms,
    })),
    retryPolicy: new RetryPolicy({ maxRetries: 1, baseMs: 0 }),
  });
}

function worker(name: string, { end, calls }: Fate, atEachCall: () => void): Agent {
  const said = model(() => {
    atEachCall();
    return "x";
  });
  return agent(name, async (ctx) => {
    for (let call = 0; call < calls; call++)
      await ctx.llm(said, { messages: [{ role: "user", content: String(call) }] });
    if (end === "crash") throw new TypeError("crashed");
    if (end === "provider") throw new ProviderError({ kind: "SERVER_ERROR", message: "down" });
    return end === "done"
      ? done(`ok:${name}`)
      : { status: "partial", output: `half:${name}`, stopReason: "length" };
  });
}

/** How a broken implementation would differ; none of it for the real one. */
interface Planted {
  readonly maxAgents?: (given: number) => number;
  readonly outcome?: (outcome: HireOutcome) => HireOutcome;
  readonly leaks?: boolean;
}

/** The same agent in a context that tells other outcomes than there were. */
function misled(lead: Agent, change: NonNullable<Planted["outcome"]>): Agent {
  return {
    ...lead,
    id: lead.id,
    run: (ctx, inbox) => {
      const batch = ctx.batch.bind(ctx);
      ctx.batch = async (leaves: readonly Leaf[]) =>
        (await batch(leaves)).map((outcome) => change(outcome as HireOutcome)) as never;
      return lead.run(ctx, inbox);
    },
  };
}

/** Nothing here waits for time, so what is not over after so many turns of the event loop never will be. */
async function orStuck<T>(running: Promise<T>): Promise<T | "stuck"> {
  const end: { result: T | "stuck" } = { result: "stuck" };
  void running.then((result) => (end.result = result));
  for (let turn = 0; turn < 20_000 && end.result === "stuck"; turn++)
    await new Promise((resolve) => setImmediate(resolve));
  return end.result;
}

function property(planted: Planted = {}) {
  return fc.asyncProperty(
    trees,
    fc.integer({ min: 1, max: 6 }),
    fc.boolean(),
    async (team, most, isDurable) => {
      let seats: SpawnTracker | undefined;
      let books: ExecutionTracker | undefined;
      const runtime = governed({
        headcount: (root) => {
          const maxAgents = planted.maxAgents?.(most) ?? most;
          seats = new SpawnTracker({ ...root.spawnBudget, maxAgents }, { rootId: root.rootId });
          if (planted.leaks === true && maxAgents > 1) seats.acquire(AgentId("ghost"), Priority.CRITICAL);
          return seats;
        },
        ledger: (root) => (books = new ExecutionTracker(root.executionBudget, { scope: root.rootId })),
        ...(isDurable && { journal: new MemoryJournal() }),
      });
      const heard: Heard[] = [];
      let held = 0;
      const real = build("lead", team, heard, () => (held = Math.max(held, seats?.held ?? 0)));
      const lead = planted.outcome === undefined ? real : misled(real, planted.outcome);
      const handle = runtime.run(lead, "go", { spawnBudget: { maxAgents: most } });
      const result = await orStuck(handle.result);
      expect(result).toMatchObject({ status: "completed", output: "ok:lead" });
      expect(held).toBeLessThanOrEqual(most);
      for (const { name, end, text, isError } of heard) {
        // A lead below may have been paused for good; it is a success only with its own answer.
        if (!isError)
          expect({ end, text }).toEqual({ end: end === "lead" ? end : "done", text: `ok:${name}` });
        else expect(text).toMatch(/^error: /);
      }
      expect({ isFree: (seats?.held ?? 0) <= 1, paused: seats?.paused, open: books?.open }).toEqual({
        isFree: true,
        paused: [],
        open: 0,
      });
    },
  );
}

test("R14–R16: whatever a tree of orchestrators does, it ends, keeps its cap, leaks no seat, and calls nothing a success that is none", async () => {
  await fc.assert(property(), { numRuns: RUNS });
});

test.each<[string, Planted]>([
  ["one seat too many", { maxAgents: (given) => given + 1 }],
  ["a seat that is never given back", { leaks: true }],
  [
    "half of an answer passed off as one",
    {
      outcome: (outcome) =>
        outcome.status === "partial"
          ? { status: "completed", result: { ...outcome.result, status: "completed" } }
          : outcome,
    },
  ],
])("the property notices %s", async (_, planted) => {
  const { failed } = await fc.check(property(planted), { numRuns: RUNS, endOnFailure: true });
  expect(failed).toBe(true);
});
