import type { Journal, RunId } from "@ravi/kernel";
import { expect } from "vitest";
import { type JournalCase, R1, R2, signal } from "./stage.ts";

/** Only a guard against hanging: a watch calls back long before. */
const PATIENCE_MS = 5_000;

/** A listener that can wait for the next notification. */
class Ear {
  told = 0;
  private next = Promise.withResolvers<void>();

  readonly hear = (): void => {
    this.told++;
    this.next.resolve();
    this.next = Promise.withResolvers();
  };

  /** Whether the watch calls back after `act` has begun. */
  async hears(act: () => unknown): Promise<boolean> {
    const { told } = this;
    const next = this.next.promise;
    await act();
    if (this.told > told) return true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
    await Promise.race([next, late]);
    clearTimeout(timer);
    return this.told > told;
  }
}

/** Undefined if the journal has no `watch`, which is optional: the runtime then polls. */
function listen(
  journal: Journal,
  run: RunId,
): { readonly ear: Ear; readonly coversAll: boolean; stop(): void } | undefined {
  const ear = new Ear();
  const watch = journal.watch?.(run, ear.hear);
  return watch === undefined ? undefined : { ear, coversAll: watch.coversAll, stop: () => watch.stop() };
}

export const watchCases: readonly JournalCase[] = [
  {
    rule: "R24",
    says: "a watch tells of each post to its own run, whether that is there already or not",
    async run({ journal }) {
      const mine = listen(journal, R1);
      const theirs = listen(journal, R2);
      if (mine === undefined || theirs === undefined) return expect(typeof journal.watch).toBe("undefined");
      expect(typeof mine.coversAll).toBe("boolean");
      for (const id of ["a", "b", "c"]) {
        expect(await mine.ear.hears(() => journal.post(R1, signal(id)))).toBe(true);
        expect(await theirs.ear.hears(() => journal.post(R2, signal(id)))).toBe(true);
      }
      mine.stop();
      theirs.stop();
    },
  },
  {
    rule: "R24",
    says: "a watch that was stopped tells nothing more, and all others go on; stopping twice is stopping once",
    async run({ journal }) {
      const gone = listen(journal, R1);
      const stays = listen(journal, R1);
      if (gone === undefined || stays === undefined) return expect(typeof journal.watch).toBe("undefined");
      expect(await gone.ear.hears(() => journal.post(R1, signal("a")))).toBe(true);
      gone.stop();
      gone.stop();
      const { told } = gone.ear;
      expect(await stays.ear.hears(() => journal.post(R1, signal("b")))).toBe(true);
      // The listeners of one post may be called one after the other.
      await new Promise((resolve) => setImmediate(resolve));
      expect(gone.ear.told).toBe(told);
      stays.stop();
    },
  },
  {
    rule: "R24",
    says: "a watch that covers all tells of what another process posts as well",
    needs: "second",
    async run({ journal, second }) {
      const other = await second();
      const mine = listen(journal, R1);
      if (mine === undefined) return expect(typeof journal.watch).toBe("undefined");
      const hears = mine.coversAll ? await mine.ear.hears(() => other.post(R1, signal("a"))) : undefined;
      expect(hears).toBe(mine.coversAll ? true : undefined);
      mine.stop();
    },
  },
];
