import { describe, expect, test } from "vitest";
import { played } from "./played.ts";

const NOW = 1_000_000;
const clock = { now: () => NOW };

/** The rows of the server's list of runs. */
function listed(
  runs: Readonly<Record<string, readonly [status: string, updatedAt: number]>>,
): (asked: { readonly query: string }) => unknown {
  const summaries = Object.entries(runs).map(([runId, [status, updatedAt]]) => ({
    runId,
    status,
    updatedAt,
  }));
  return ({ query }) => ({
    rows: query.includes("FROM state")
      ? summaries.map((summary) => ({ value_utf8: JSON.stringify(summary) }))
      : [],
  });
}

/** Deletes what it is told to, except for those; notes which it was told to delete. */
function forgetting(except: (runId: string) => boolean, asked: string[]) {
  return (_message: unknown, runId: string): unknown => {
    asked.push(runId);
    return except(runId) ? new Error(`${runId} is stuck`) : { isGone: true };
  };
}

describe("prune", () => {
  test("R24: it deletes the runs that ended longer ago than that, however they ended, and returns their ids", async () => {
    const query = listed({
      completed: ["completed", NOW - 101],
      partial: ["partial", NOW - 500],
      failed: ["failed", 0],
      cancelled: ["cancelled", NOW - 101],
      young: ["completed", NOW - 100],
      running: ["running", 0],
      suspended: ["suspended", 0],
    });
    const asked: string[] = [];
    const act: Parameters<typeof played>[1] = async (runtime) => {
      const ended = ["completed", "partial", "failed", "cancelled"];
      expect(await runtime.prune({ olderThanMs: 100 })).toEqual(ended);
      expect(asked.toSorted()).toEqual(ended.toSorted());
    };
    await played({ query, forget: forgetting(() => false, asked) }, act, { clock });
  });

  test("R24: one that cannot be deleted is an error, but only after all others were deleted", async () => {
    const names = Array.from({ length: 50 }, (_, n) => `run-${n}`);
    const query = listed(Object.fromEntries(names.map((name) => [name, ["completed", 0]])));
    const asked: string[] = [];
    const forget = forgetting((runId) => runId === "run-3" || runId === "run-40", asked);
    const act: Parameters<typeof played>[1] = async (runtime) => {
      await expect(runtime.prune({ olderThanMs: 0 })).rejects.toThrow("run-3 is stuck");
      expect(asked.toSorted()).toEqual(names.toSorted());
    };
    await played({ query, forget }, act, { clock });
  });

  test("R24: where none can be deleted, it does not go on trying with thousands", async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `run-${n}`);
    const query = listed(Object.fromEntries(names.map((name) => [name, ["completed", 0]])));
    const asked: string[] = [];
    const act: Parameters<typeof played>[1] = async (runtime) => {
      await expect(runtime.prune({ olderThanMs: 0 })).rejects.toThrow("run-0 is stuck");
      expect(asked.length).toBeLessThan(200);
    };
    await played({ query, forget: forgetting(() => true, asked) }, act, { clock });
  });

  test("R24: an age that is none is refused by name, and so is a client that is closed", async () => {
    await played({ query: { rows: [] } }, async (runtime, asked) => {
      const refused = { code: "INVALID_VALUE" };
      await expect(runtime.prune({ olderThan: 1 } as never)).rejects.toMatchObject(refused);
      for (const olderThanMs of ["day", -1, 0.5, undefined])
        await expect(runtime.prune({ olderThanMs } as never)).rejects.toThrow(
          /^prune options\.olderThanMs is/,
        );
      await runtime.close();
      await expect(runtime.prune({ olderThanMs: 1 })).rejects.toMatchObject(refused);
      expect(asked.size).toBe(0);
    });
  });
});
