import { expect, test } from "vitest";
import type { HookEvent } from "@ravi/kernel";
import { Channel } from "../src/dispatch/channel.ts";
import { subscription } from "../src/dispatch/listener.ts";
import { ProblemReporter } from "../src/dispatch/problem-reporter.ts";

test.each([true, false])(
  "R20: an event of a newer kernel is told, frozen all the way down (own: %s)",
  (isOwn) => {
    const newer: string = "newer";
    const channel = new Channel(newer as HookEvent, new ProblemReporter({}));
    const got: object[] = [];
    const listen = (payload: unknown): void => void got.push(payload as object);
    channel.add(Object.assign(listen, { subscription: subscription(listen), live: true }));
    channel.emit({ part: { n: 1 } }, isOwn);
    expect(got).toEqual([{ part: { n: 1 } }]);
    expect(got.flatMap((payload) => [payload, ...Object.values(payload)]).every(Object.isFrozen)).toBe(true);
  },
);
