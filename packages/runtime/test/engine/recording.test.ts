import { ExecId, type JournalRecord, RunId } from "@ravi/kernel";
import { expect, test } from "vitest";
import { ExecRecording } from "../../src/engine/recording.ts";

function fact(n: number): JournalRecord {
  return { seq: n, exec: ExecId(RunId("r")), key: `k#${n}`, attempt: 1, phase: "note", at: n, body: {} };
}

/** In no batch, and it counts how often it is asked. */
class Looks extends Set<string> {
  count = 0;

  override has(): boolean {
    this.count++;
    return false;
  }
}

test("R24: who looks for the next step that was not asked for yet looks past none that was", () => {
  const recording = new ExecRecording();
  for (let n = 1; n <= 100; n++) recording.add(fact(n));
  const looks = new Looks();
  for (let n = 1; n <= 100; n++) {
    expect(recording.nextUnread(looks)?.key).toBe(`k#${n}`);
    recording.take(`k#${n}`);
  }
  expect(recording.nextUnread(looks)).toBeUndefined();
  expect(looks.count).toBe(100);
});

test("R24: steps that were asked for out of their order are left out, and come back for nobody", () => {
  const recording = new ExecRecording();
  for (let n = 1; n <= 5; n++) recording.add(fact(n));
  for (const n of [2, 4]) recording.take(`k#${n}`);
  expect(recording.nextUnread()?.key).toBe("k#1");
  expect(recording.nextUnread(new Set(["k#1"]))?.key).toBe("k#3");
  recording.take("k#1");
  expect(recording.nextUnread()?.key).toBe("k#3");
  recording.take("k#3");
  expect(recording.nextUnread()?.key).toBe("k#5");
});
