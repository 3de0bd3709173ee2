import { type Journal, type JournalEntry, RunId } from "@ravi/kernel";
import fc from "fast-check";
import { expect } from "vitest";
import { attempt, games } from "../case.ts";
import type { VirtualClock } from "../../virtual-clock.ts";
import { entry, type JournalCase, keysOf, signal, TTL } from "./stage.ts";

/** The state of a run in its simplest form. */
interface ModelRun {
  owner: string | null;
  epoch: number;
  expires: number;
  keys: string[];
}

type Step =
  | { readonly do: "claim"; readonly run: number; readonly owner: string }
  | { readonly do: "append"; readonly run: number; readonly epochs: number; readonly keys: readonly string[] }
  | { readonly do: "release"; readonly run: number; readonly epochs: number }
  | { readonly do: "abandon"; readonly run: number; readonly epochs: number }
  | { readonly do: "delete"; readonly run: number }
  | { readonly do: "post"; readonly run: number; readonly id: string }
  | { readonly do: "wait"; readonly ms: number };

const run = fc.integer({ min: 0, max: 2 });
/** Added to the current epoch, for a stale or a wrong writer: mostly 0. */
const epochs = fc.constantFrom(0, 0, 0, 0, -1, 1);
const key = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant("claim"), run, owner: fc.constantFrom("one", "two") }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("append"),
      run,
      epochs,
      keys: fc.array(key, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("release"), run, epochs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("abandon"), run, epochs }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete"), run }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("post"), run, id: fc.constantFrom("p", "q", "r") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("wait"), ms: fc.constantFrom(1, TTL - 1, TTL) }) },
);

class Model {
  readonly runs = new Map<RunId, ModelRun>();
  readonly items = new Map<RunId, Set<string>>();
  /** The highest epoch that a run ever had, also before it was deleted. */
  private readonly highest = new Map<RunId, number>();

  /** Compares the journal's answer with the model. Returns what is wrong with it, if anything. */
  claim(id: RunId, owner: string, now: number, answer: number | null): string | undefined {
    const known = this.runs.get(id);
    const held = known !== undefined && known.owner !== null && known.expires > now;
    if (held && known.owner !== owner)
      return answer === null ? undefined : `granted, though ${known.owner} holds it`;
    if (answer === null) return "refused, though nobody else holds it";
    if (known?.owner === owner) {
      if (answer !== known.epoch) return `renewed under the epoch ${answer} instead of ${known.epoch}`;
    } else if (answer <= (this.highest.get(id) ?? 0)) {
      return `a new claim has the old epoch ${answer}`;
    }
    this.highest.set(id, answer);
    this.runs.set(id, { owner, epoch: answer, expires: now + TTL, keys: known?.keys ?? [] });
    return undefined;
  }

  append(id: RunId, epoch: number, keys: readonly string[]): boolean {
    const known = this.runs.get(id);
    if (known === undefined || known.owner === null || known.epoch !== epoch) return false;
    if (new Set([...known.keys, ...keys]).size !== known.keys.length + keys.length) return false;
    known.keys.push(...keys);
    return true;
  }

  release(id: RunId, epoch: number): void {
    const known = this.runs.get(id);
    if (known?.epoch === epoch) known.owner = null;
  }

  abandon(id: RunId, epoch: number): void {
    const known = this.runs.get(id);
    if (known?.epoch === epoch && known.owner !== null && known.keys.length === 0) this.runs.delete(id);
  }

  delete(id: RunId): void {
    this.runs.delete(id);
    this.items.delete(id);
  }

  post(id: RunId, item: string): void {
    this.items.set(id, (this.items.get(id) ?? new Set()).add(item));
  }
}

async function play(
  journal: Journal,
  clock: VirtualClock,
  ids: readonly RunId[],
  steps: readonly Step[],
): Promise<void> {
  const model = new Model();
  for (const each of steps) {
    if (each.do === "wait") {
      await clock.advance(each.ms);
      continue;
    }
    const id = ids[each.run] as RunId;
    const epoch = (model.runs.get(id)?.epoch ?? 1) + ("epochs" in each ? each.epochs : 0);
    if (each.do === "claim") {
      const claim = await journal.claim(id, each.owner, TTL);
      expect(model.claim(id, each.owner, clock.now(), claim?.epoch ?? null)).toBeUndefined();
    } else if (each.do === "append") {
      const entries: JournalEntry[] = each.keys.map((name) => entry(id, name));
      const took = await attempt(() => journal.append(id, epoch, entries)).then(
        () => true,
        () => false,
      );
      expect(took).toBe(model.append(id, epoch, each.keys));
    } else if (each.do === "release") {
      await journal.release(id, epoch);
      model.release(id, epoch);
    } else if (each.do === "abandon") {
      // Optional for a journal.
      if (journal.abandon === undefined) continue;
      await journal.abandon(id, epoch);
      model.abandon(id, epoch);
    } else if (each.do === "delete") {
      await journal.delete(id);
      model.delete(id);
    } else {
      await journal.post(id, signal(each.id));
      model.post(id, each.id);
    }
  }
  for (const id of ids) {
    expect(await keysOf(journal, id)).toEqual(model.runs.get(id)?.keys ?? []);
    expect((await journal.items(id, 0)).map((item) => item.id)).toEqual([...(model.items.get(id) ?? [])]);
  }
  const entries = new Map((await journal.list()).map((each) => [each.runId, each.entries]));
  for (const id of ids) expect(entries.get(id)).toBe(model.runs.get(id)?.keys.length);
}

export const modelCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "any sequence of claims, appends, releases, abandonments, deletions and posts does what a simple model says",
    async run({ journal, clock }) {
      let game = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          game++;
          const ids = [0, 1, 2].map((n) => RunId(`game-${game}-${n}`));
          await play(journal, clock, ids, steps);
        }),
        games(),
      );
    },
  },
];
