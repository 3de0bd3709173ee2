import { expect, test } from "vitest";
import { LIMITS } from "../src/limits.ts";
import { FloodGate } from "../src/open/flood-gate.ts";

function gateAt(start: number) {
  let time = start;
  const gate = new FloodGate({ now: () => time });
  return { gate, move: (ms: number) => void (time += ms) };
}

test("as much as is allowed passes in each window of time, and no more", () => {
  const { gate, move } = gateAt(0);
  for (let window = 0; window < 3; window++) {
    expect(gate.take({ messages: LIMITS.windowMessages, bytes: LIMITS.windowBytes })).toBeUndefined();
    move(LIMITS.windowMs - 1);
    expect(gate.take({ messages: 1 })).toBe("it sent more than 10000 messages within 10 s");
    move(1);
  }
  expect(gate.take({ bytes: LIMITS.windowBytes + 1 })).toBe("it sent more than 134217728 bytes within 10 s");
});

test("a clock that is set back does not keep it closed", () => {
  const { gate, move } = gateAt(3_600_000);
  expect(gate.take({ messages: LIMITS.windowMessages + 1 })).toBeDefined();
  move(-3_600_000);
  expect(gate.take({ messages: 1 })).toBeUndefined();
});
