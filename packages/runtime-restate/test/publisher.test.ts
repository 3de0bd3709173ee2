import type { Logger } from "@ravi/kernel";
import { virtualClock } from "@ravi/testing";
import { expect, test } from "vitest";
import { Publishers } from "../src/execution/publisher.ts";
import type { NumberedEvent } from "../src/topic/log.ts";

const told = (execId: string, n: number): NumberedEvent => ({
  n,
  at: 0,
  agentId: "a",
  execId,
  event: { type: "x" },
});

test("J3: what the agents of a run tell at once goes in one parcel, each in its order; other runs have their own", async () => {
  const clock = virtualClock();
  const sent: string[] = [];
  const send = async (runId: string, events: readonly NumberedEvent[]): Promise<void> => {
    sent.push(`${runId}: ${events.map(({ execId, n }) => `${execId}${String(n)}`).join(" ")}`);
  };
  const publishers = new Publishers({ clock, send, closed: new AbortController().signal });
  const [one, two] = [publishers.of("run"), publishers.of("run")];
  one.add(told("a", 1));
  two.add(told("b", 1));
  publishers.of("other").add(told("c", 1));
  one.add(told("a", 2));
  expect(sent).toEqual([]);
  await clock.advance(100);
  expect(sent).toEqual(["run: a1 b1 a2", "other: c1"]);
});

test("J3: what is known to be at the server when its parcel goes is left out, and what the server has taken is confirmed", async () => {
  const clock = virtualClock();
  const sent: unknown[] = [];
  let isDown = true;
  const send = async (_: string, events: readonly NumberedEvent[]): Promise<void> => {
    if (isDown) throw new Error("down");
    sent.push(events.map(({ n }) => n));
  };
  const publisher = new Publishers({ clock, send, closed: new AbortController().signal }).of("run");
  let known = 0;
  const confirmed: number[] = [];
  const add = (n: number): void =>
    publisher.add(told("a", n), { isNeeded: () => n > known, onSent: () => void confirmed.push(n) });
  add(1);
  await clock.advance(100);
  isDown = false;
  add(2);
  add(3);
  known = 2;
  await clock.advance(100);
  expect([sent, confirmed]).toEqual([[[3]], [3]]);
  add(2);
  await clock.advance(100);
  expect(sent).toEqual([[3]]);
});

test("J3: very many events go in several parcels, in order, and what comes meanwhile goes after them", async () => {
  const sent: (readonly NumberedEvent[])[] = [];
  const publishers = new Publishers({
    clock: virtualClock(),
    closed: new AbortController().signal,
    send: async (_runId, events) => {
      if (sent.push(events) === 1) publishers.of("run").add(told("a", 2_501));
    },
  });
  for (let n = 1; n <= 2_500; n++) publishers.of("run").add(told("a", n));
  await publishers.of("run").flush();
  expect(sent.map((events) => events.length)).toEqual([1_000, 1_000, 500, 1]);
  expect(sent.flat().map(({ n }) => n)).toEqual(Array.from({ length: 2_501 }, (_, at) => at + 1));
});

test("J3: a parcel is measured in bytes, whatever the script", async () => {
  const sent: number[] = [];
  const send = async (_runId: string, events: readonly NumberedEvent[]): Promise<void> => {
    sent.push(events.length);
  };
  const publishers = new Publishers({ clock: virtualClock(), send, closed: new AbortController().signal });
  const event = { type: "x", text: "漢".repeat(1_000_000) };
  for (let n = 1; n <= 5; n++) publishers.of("run").add({ ...told("a", n), event });
  await publishers.of("run").flush();
  expect(sent).toEqual([2, 2, 1]);
});

test("J3: whoever ends has all of it sent first, without waiting for company; what cannot be sent keeps nobody", async () => {
  const sent: number[] = [];
  const send = async (_runId: string, events: readonly NumberedEvent[]): Promise<void> => {
    sent.push(events.length);
    throw new Error("the worker is closed");
  };
  const publishers = new Publishers({ clock: virtualClock(), send, closed: AbortSignal.abort() });
  const publisher = publishers.of("run");
  publisher.add(told("a", 1));
  await publisher.flush();
  expect(sent).toEqual([1]);
  await publisher.flush();
  publisher.add(told("a", 2));
  await publisher.flush();
  expect(sent).toEqual([1, 1]);
});

test("J3: what could not be told is logged, but not what a worker that closes leaves to the next", async () => {
  const logged: string[] = [];
  const log = (text: string): void => void logged.push(text);
  const logger: Logger = { debug: log, info: log, warn: log, error: log };
  const closing = new AbortController();
  const send = async (): Promise<void> => {
    throw new Error("refused with 500");
  };
  const publishers = new Publishers({ clock: virtualClock(), send, closed: closing.signal, logger });
  publishers.of("run").add(told("a", 1));
  await publishers.of("run").flush();
  expect(logged).toEqual(["could not publish 1 events of run: refused with 500"]);
  closing.abort();
  publishers.of("run").add(told("a", 2));
  await publishers.of("run").flush();
  expect(logged).toHaveLength(1);
});
