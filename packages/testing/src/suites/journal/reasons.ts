import type { Journal, RunId, RunSummary } from "@ravi/kernel";
import { expect } from "vitest";
import { claimed, entry, type JournalCase, note, R1, R2, signal } from "./stage.ts";

type Reasons = Pick<RunSummary, "error" | "cancelReason">;

async function reasons(journal: Journal, run: RunId): Promise<Reasons> {
  const { error, cancelReason } = (await journal.list()).find(({ runId }) => runId === run) ?? {};
  if (journal.summary !== undefined) {
    const alone = await journal.summary(run);
    expect([alone?.error, alone?.cancelReason]).toEqual([error, cancelReason]);
  }
  return { error, cancelReason };
}

const NONE: Reasons = { error: undefined, cancelReason: undefined };

export const reasonCases: readonly JournalCase[] = [
  {
    rule: "R24",
    needs: "reasons",
    says: "list says which error a run has ended or is suspended with, if the status is its last entry",
    async run({ journal }) {
      const epoch = await claimed(journal, R1);
      await journal.append(R1, epoch, [note(R1, "run:start", 5, { agent: "lead@1" })]);
      expect(await reasons(journal, R1)).toEqual(NONE);
      let notes = 0;
      const say = async (status: string, error?: object, output = ""): Promise<Reasons> => {
        const body = { status, output, ...(error !== undefined && { error: { ...error } }) };
        await journal.append(R1, epoch, [note(R1, `run:status#${++notes}`, 10, body)]);
        return reasons(journal, R1);
      };
      const left = { code: "SUSPENDED", message: "suspended: ü" };
      expect(await say("suspended", { ...left, name: "SuspendedError" })).toEqual({ ...NONE, error: left });
      await journal.append(R1, epoch, [entry(R1, "llm:a#1")]);
      expect(await reasons(journal, R1)).toEqual(NONE);
      expect(await say("running")).toEqual(NONE);
      for (const status of ["failed", "partial", "cancelled"]) {
        const error = { code: "PROVIDER_ERROR", message: `it is ${status}` };
        expect(await say(status, { ...error, retryable: false })).toEqual({ ...NONE, error });
      }
      const plain = { code: null, message: "of no known kind" };
      expect(await say("failed", { ...plain, name: "TypeError" })).toEqual({ ...NONE, error: plain });
      // A journal may keep what is large apart.
      expect(await say("failed", plain, "x".repeat(300_000))).toEqual({ ...NONE, error: plain });
      expect(await say("failed", { code: "WITHOUT_A_MESSAGE" })).toEqual(NONE);
      expect(await say("completed")).toEqual(NONE);
    },
  },
  {
    rule: "R24",
    needs: "reasons",
    says: "list says that a run was cancelled and why, from the first such post until the run has ended",
    async run({ journal }) {
      await journal.post(R1, signal("early"));
      const epoch = await claimed(journal, R1);
      await claimed(journal, R2);
      const cancel = (id: string, value: string | number) =>
        journal.post(R1, signal(id, { kind: "cancel", name: "cancel", value }));
      expect(await reasons(journal, R1)).toEqual(NONE);
      await cancel("stop", "too dear: ü");
      const cancelled = { ...NONE, cancelReason: "too dear: ü" };
      expect(await reasons(journal, R1)).toEqual(cancelled);
      await cancel("stop-2", "too late");
      await journal.append(R1, epoch, [note(R1, "run:start", 5, { agent: "lead@1" })]);
      await journal.append(R1, epoch, [note(R1, "run:waits", 6, { waits: [], heard: 3 })]);
      expect(await reasons(journal, R1)).toEqual(cancelled);
      await journal.append(R1, epoch, [note(R1, "run:status", 7, { status: "suspended" })]);
      expect(await reasons(journal, R1)).toEqual(cancelled);
      expect(await reasons(journal, R2)).toEqual(NONE);
      await journal.append(R1, epoch, [note(R1, "run:status#2", 8, { status: "cancelled" })]);
      expect(await reasons(journal, R1)).toEqual(NONE);
      await journal.delete(R1);
      await claimed(journal, R1);
      expect(await reasons(journal, R1)).toEqual(NONE);
      await cancel("number", 7);
      expect(await reasons(journal, R1)).toEqual({ ...NONE, cancelReason: "cancelled from outside" });
    },
  },
];
