import { ExecId, type JournalRecord, type JsonObject, RunId } from "@ravi/kernel";
import { expect, test } from "vitest";
import { afterRetries } from "../../src/engine/retried.ts";

const failure = { code: "PROVIDER_ERROR", message: "down" };

/** A failed run with so many failed children. `looks` counts how often an entry is looked at. */
function failed(children: number): { readonly records: JournalRecord[]; readonly looks: () => number } {
  let looks = 0;
  const records: JournalRecord[] = [];
  const add = (exec: ExecId, key: string, phase: JournalRecord["phase"], body: JsonObject = {}): void => {
    const record: JournalRecord = { seq: records.length + 1, exec, key, attempt: 1, phase, at: 1, body };
    const count = {
      get: () => {
        looks++;
        return exec;
      },
      enumerable: true,
    };
    records.push(Object.defineProperty(record, "exec", count));
  };
  const root = ExecId(RunId("r"));
  const hires = Array.from({ length: children }, (_, n) => `hire:worker#${n + 1}`);
  add(root, "run:start", "note");
  for (const hire of hires) add(root, hire, "begin");
  for (const hire of hires) {
    add(ExecId(root, hire), "llm:m#1", "begin");
    add(ExecId(root, hire), "llm:m#1", "end", { error: failure });
    add(root, hire, "end", { status: "failed", failure });
  }
  add(root, "run:status", "note", { status: "failed", error: failure });
  return { records, looks: () => looks };
}

test("however many children have failed, each entry is looked at as often", () => {
  const [few, many] = [failed(10), failed(1_000)];
  const endsIn = (records: readonly JournalRecord[]): number =>
    records.filter(({ phase, body }) => phase === "end" && body["withdrawn"] !== true).length;
  expect(endsIn(afterRetries(RunId("r"), few.records, 1))).toBe(0);
  expect(endsIn(afterRetries(RunId("r"), many.records, 1))).toBe(0);
  const each = ({ records, looks }: ReturnType<typeof failed>): number =>
    Math.round(looks() / records.length);
  expect(each(many)).toBe(each(few));
});
