import { expect, it } from "vitest";
import { SessionHub } from "../src/agent/hub.ts";

const step = (at: number) => ({ type: "step", step: at }) as const;

async function read(events: AsyncIterator<unknown>, count: number): Promise<unknown[]> {
  const all: unknown[] = [];
  for (let at = 0; at < count; at++) all.push((await events.next()).value);
  return all;
}

it("a slow reader gets everything in its order, and moves none of what it has not read", async () => {
  const hub = new SessionHub();
  const events = hub.subscribe();
  for (let at = 0; at < 50_000; at++) hub.publish(step(at));
  const kept = (): number => Reflect.get(events, "unread").length;
  const first = await read(events, 1_000);
  expect(kept()).toBe(50_000);
  // What it has read is let go of, now and then.
  first.push(...(await read(events, 29_000)));
  expect(kept()).toBeLessThan(30_000);
  for (let at = 50_000; at < 60_000; at++) hub.publish(step(at));
  const all = [...first, ...(await read(events, 30_000))];
  expect(all).toEqual(Array.from({ length: 60_000 }, (_, at) => step(at)));
  // It has caught up, and waits.
  const next = events.next();
  hub.publish(step(-1));
  expect((await next).value).toEqual(step(-1));
});

it("of what nobody reads the newest hundred thousand are kept", async () => {
  const hub = new SessionHub();
  const events = hub.subscribe();
  for (let at = 0; at < 250_000; at++) hub.publish(step(at));
  hub.close();
  const all = await read(events, 100_000);
  expect([all[0], all.at(-1)]).toEqual([step(150_000), step(249_999)]);
  expect(await events.next()).toEqual({ value: undefined, done: true });
});
