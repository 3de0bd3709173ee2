import { AgentId, type Headcount, Priority } from "@ravi/kernel";
import fc from "fast-check";
import { expect } from "vitest";
import { attempt, games } from "../case.ts";
import { Seats } from "./seats.ts";
import { FULL, type HeadcountCase, type HeadcountStage, hire } from "./stage.ts";

type Step =
  | { readonly do: "hire"; readonly name: AgentId; readonly priority: Priority; readonly pick: number }
  | { readonly do: "queue"; readonly name: AgentId; readonly priority: Priority; readonly pick: number }
  | { readonly do: "reprioritize"; readonly priority: Priority; readonly pick: number }
  | { readonly do: "release"; readonly pick: number }
  | { readonly do: "abort"; readonly pick: number };

const name = fc.constantFrom(...["a", "b", "c", "d", "e", "f", "g", "h"].map((one) => AgentId(one)));
const priority = fc.constantFrom(...Object.values(Priority));
const pick = fc.nat(10);
const maxAgents = fc.integer({ min: 1, max: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("hire"), name, priority, pick }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("queue"), name, priority, pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("release"), pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("reprioritize"), priority, pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("abort"), pick }) },
);

async function play(seats: Seats, one: Step): Promise<void> {
  if (one.do === "hire") await seats.hire(one.name, one.priority, one.pick);
  else if (one.do === "queue") await seats.queue(one.name, one.priority, one.pick);
  else if (one.do === "reprioritize") await seats.reprioritize(one.pick, one.priority);
  else if (one.do === "abort") await seats.abort(one.pick);
  else await seats.release(one.pick);
}

/** Hires of equal rank and releases that begin at the same moment. Nothing is said about their order: only the slots count. */
async function playBursts(
  { open, soon }: HeadcountStage,
  handlesOf: (headcount: Headcount) => Promise<readonly Headcount[]>,
): Promise<void> {
  const burst = fc.record({ hires: fc.nat(8), releases: fc.nat(4) });
  await fc.assert(
    fc.asyncProperty(maxAgents, fc.array(burst, { maxLength: 5 }), async (most, bursts) => {
      const headcount = await open({ maxAgents: most });
      const handles = await handlesOf(headcount);
      let held: AgentId[] = [];
      let asked = 0;
      for (const { hires, releases } of bursts) {
        const leaving = held.slice(0, releases);
        held = held.slice(releases);
        const hiring = Array.from({ length: hires }, async (_, n) => {
          const id = AgentId("burst", ++asked);
          await hire(handles[n % handles.length] ?? headcount, id);
          return id;
        });
        const [answers] = await Promise.all([
          Promise.allSettled(hiring),
          ...leaving.map((id) => attempt(() => headcount.release(id))),
        ]);
        for (const answer of answers) {
          if (answer.status === "fulfilled") held.push(answer.value);
          else expect(answer.reason).toMatchObject(FULL);
        }
        expect(held.length + 1).toBeLessThanOrEqual(most);
      }
      const seats = new Seats(headcount, most, soon);
      await seats.note(held, Priority.NORMAL);
      await seats.endAll();
    }),
    games(),
  );
}

export const gameCases: readonly HeadcountCase[] = [
  {
    rule: "T3",
    says: "any sequence of hires, waits, releases, aborts and new priorities keeps the rules, and everybody ends",
    async run({ open, soon }) {
      await fc.assert(
        fc.asyncProperty(maxAgents, fc.array(step, { maxLength: 40 }), async (most, steps) => {
          const seats = new Seats(await open({ maxAgents: most }), most, soon);
          for (const one of steps) await play(seats, one);
          await seats.endAll();
        }),
        games(),
      );
    },
  },
  {
    rule: "T3",
    says: "whoever is hired and released at the same moment, there are never more than the slots, and none is lost",
    run: (stage) => playBursts(stage, async (headcount) => [headcount]),
  },
  {
    rule: "T3",
    says: "nor are there more, nor is one lost, through several handles",
    needs: "second",
    run: (stage) => playBursts(stage, async (headcount) => [headcount, await stage.second(headcount)]),
  },
];
