import fc from "fast-check";
import { expect, test } from "vitest";
import { append, EMPTY, type NumberedEvent } from "../src/topic/log.ts";

const told = (n: number | null, execId = "run"): NumberedEvent => ({
  n,
  at: 0,
  agentId: "lead",
  execId,
  event: { n },
});

test("J3: events are numbered without a gap, and what a replay tells again is not there twice", () => {
  const first = append(EMPTY, [told(1), told(null), told(2)]);
  const second = append(first.head, [told(1), told(2), told(3), told(1, "run/child")]);
  expect(first.added.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  expect(second.added.map(({ seq, execId }) => [seq, execId])).toEqual([
    [4, "run"],
    [5, "run/child"],
  ]);
});

test("J3: however often and in whatever parcels an execution tells its story, it is there once and in order", () => {
  const parcels = fc.array(fc.tuple(fc.nat(10), fc.nat(10)), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(parcels, (goes) => {
      let head = EMPTY;
      const events: number[] = [];
      let reached = 0;
      // Each go begins anew, as after a crash, and comes at least as far as the parcel before it.
      for (const [from, more] of goes) {
        const start = Math.min(from, reached);
        const list = Array.from({ length: reached - start + more }, (_, at) => told(start + at + 1));
        const appended = append(head, list);
        head = appended.head;
        events.push(...appended.added.map(({ seq }) => seq));
        reached += more;
      }
      expect(events).toEqual(Array.from({ length: reached }, (_, at) => at + 1));
    }),
  );
});
