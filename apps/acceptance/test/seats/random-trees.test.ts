import fc from "fast-check";
import { expect, test } from "vitest";
import { type Agent, type HireOutcome, Priority, RunId } from "@ravi/kernel";
import { MemoryJournal } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import { virtualClock } from "@ravi/testing";
import { cutJournal } from "../../src/cut-journal.ts";
import { agent, done, governed, model } from "../../src/leading.ts";

const RUNS = process.env["RAVI_LONG"] ? 3_000 : 150;

/** What one agent does, in order, and on what terms it is hired. */
interface Life {
  readonly work: readonly ("call" | "sleep" | "check")[];
  readonly end: "done" | "throw" | "hang";
  readonly team: readonly Life[];
  readonly way: "batch" | "spawn";
  readonly terms: {
    readonly priority: Priority;
    readonly onFull: "deny" | "queue";
    readonly onPreempt: "park" | "return";
    readonly onTimeout: "cancel" | "leave";
    readonly timeoutS?: number | undefined;
    readonly executionBudget?: { readonly deadlineS: number } | undefined;
  };
}

const { life } = fc.letrec<{ life: Life }>((tie) => ({
  life: fc.record({
    work: fc.array(fc.constantFrom("call", "sleep", "check"), { maxLength: 3 }),
    end: fc.constantFrom("done", "done", "done", "throw", "hang"),
    way: fc.constantFrom("batch", "batch", "spawn"),
    terms: fc.record({
      priority: fc.constantFrom(Priority.BACKGROUND, Priority.NORMAL, Priority.HIGH, Priority.CRITICAL),
      onFull: fc.constantFrom("deny", "queue"),
      onPreempt: fc.constantFrom("park", "return"),
      onTimeout: fc.constantFrom("cancel", "leave"),
      timeoutS: fc.constantFrom(undefined, 5, 30),
      executionBudget: fc.constantFrom(undefined, undefined, { deadlineS: 20 }),
    }),
    team: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fc.constant([]),
      fc.array(tie("life"), { minLength: 1, maxLength: 4 }),
    ),
  }),
}));

/** Counts who is at work, by itself and not by the tracker's word. */
class Witness {
  working = 0;
  most = 0;
  enter(): void {
    this.most = Math.max(this.most, ++this.working);
  }
  leave(): void {
    this.working--;
  }
}

/** Nobody in it can take another's slot. */
function isCalm({ team }: Life): boolean {
  return team.every((one) => one.terms.priority <= Priority.NORMAL && isCalm(one));
}

function build(name: string, { work, end, team, way }: Life, witness: Witness): Agent {
  const said = model(() => "x");
  const members = team.map((one, n) => ({ one, agent: build(`${name}_${n}`, one, witness) }));
  return agent(name, async (ctx) => {
    for (const step of work) {
      if (step === "call") {
        witness.enter();
        await ctx.llm(said, { messages: [{ role: "user", content: step }] }).finally(() => witness.leave());
      } else if (step === "sleep") await ctx.sleepUntil((await ctx.now()) + 10_000);
      else await ctx.check();
    }
    const told: string[] = [];
    const note = (outcome: HireOutcome): void => void told.push(outcome.status);
    if (way === "batch") {
      const leaves = members.map(
        ({ one, agent: who }) => ({ kind: "hire", agent: who, input: "", ...one.terms }) as const,
      );
      for (const outcome of await ctx.batch(leaves)) note(outcome);
    } else {
      for (const { one, agent: who } of members) {
        try {
          const handle = await ctx.spawn(who, { input: "", ...one.terms });
          note(await ctx.join(handle));
        } catch (error) {
          await ctx.check();
          told.push(String(error));
        }
      }
    }
    if (end === "throw") throw new TypeError(`${name} crashed`);
    // Ended by a deadline or a time limit, or when its parent ends; at the root by the run's own.
    if (end === "hang") await ctx.waitFor(`never ${name}`);
    return done(told.join(" "));
  });
}

test("R14–R16: a random tree with queues, preemption, time limits and hanging agents ends, and leaves no seat and no timer", async () => {
  await fc.assert(
    fc.asyncProperty(life, fc.integer({ min: 1, max: 5 }), fc.boolean(), async (root, most, isDurable) => {
      const clock = virtualClock({ now: 0 });
      const witness = new Witness();
      let seats: SpawnTracker | undefined;
      const runtime = governed({
        clock,
        headcount: (of) => (seats = new SpawnTracker(of.spawnBudget, { rootId: of.rootId })),
        ...(isDurable && { journal: new MemoryJournal() }),
      });
      const handle = runtime.run(build("root", root, witness), "go", {
        spawnBudget: { maxAgents: most },
        executionBudget: { deadlineS: 3_600 },
      });
      const end: { result?: string } = {};
      void handle.result.then(({ status }) => (end.result = status));
      for (let minutes = 0; minutes < 62 && end.result === undefined; minutes++) {
        expect(seats?.held ?? 0).toBeLessThanOrEqual(most);
        await clock.advance(60_000);
      }
      expect(end.result).toBeDefined();
      expect(seats?.held).toBe(1);
      expect(witness.working).toBe(0);
      // One who lost its slot in the middle of a call ends that call; without that there are never more than the cap.
      if (isCalm(root)) expect(witness.most).toBeLessThanOrEqual(most);
      expect(clock.pending).toBe(0);
      const { agents = [] } = await handle.result;
      for (const one of agents) expect(["pending", "running", "suspended"]).not.toContain(one.status);
    }),
    { numRuns: RUNS },
  );
});

test("R24: cut off after any entry, after a while, and again in the middle of that, it goes on to an end", async () => {
  await fc.assert(
    fc.asyncProperty(
      life,
      fc.integer({ min: 1, max: 5 }),
      fc.array(
        fc.record({
          at: fc.double({ min: 0, max: 1, noNaN: true }),
          later: fc.constantFrom(0, 1_000, 100_000),
        }),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
      async (root, most, crashes) => {
        let now = 0;
        let journal = new MemoryJournal();
        let isFirst = true;
        // Once to its end, then from each crash to its end again.
        for (const crash of [...crashes, undefined]) {
          const clock = virtualClock({ now });
          const witness = new Witness();
          let seats: SpawnTracker | undefined;
          const made = build("root", root, witness);
          const runtime = governed({
            clock,
            journal,
            agents: [made],
            headcount: (of) => (seats = new SpawnTracker(of.spawnBudget, { rootId: of.rootId })),
          });
          const handle = isFirst
            ? runtime.run(made, "go", {
                runId: "r",
                spawnBudget: { maxAgents: most },
                executionBudget: { deadlineS: 3_600 },
              })
            : runtime.resume("r");
          isFirst = false;
          const end: { status?: string; failure?: unknown } = {};
          handle.result.then(
            ({ status, error }) =>
              (end.status = status === "suspended" ? `suspended: ${error?.message}` : status),
            (error: unknown) => (end.failure = error),
          );
          for (
            let minutes = 0;
            minutes < 62 && end.status === undefined && end.failure === undefined;
            minutes++
          )
            await clock.advance(60_000);
          expect(end).toEqual({ status: expect.stringMatching(/^(completed|partial|failed|cancelled)$/) });
          expect(seats?.held ?? 1).toBe(1);
          expect(clock.pending).toBe(0);
          const { agents = [] } = await handle.result;
          for (const one of agents) expect(["pending", "running", "suspended"]).not.toContain(one.status);
          if (crash === undefined) return;
          const records = journal.load(RunId("r"));
          const left = records.slice(0, 2 + Math.floor(crash.at * (records.length - 2)));
          now = (left.at(-1)?.at ?? 0) + crash.later;
          journal = cutJournal("r", left);
        }
      },
    ),
    { numRuns: RUNS },
  );
});
