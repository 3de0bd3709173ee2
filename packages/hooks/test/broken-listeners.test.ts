import { HookEvent, type Hooks, NO_HOOKS, type Usage } from "@ravi/kernel";
import { type VirtualClock, virtualClock } from "@ravi/testing";
import { describe, expect, test } from "vitest";
import { HookManager } from "../src/index.ts";
import { dispatchSample, EVENTS, raise, samples } from "./sample.ts";

type Listen = (payload: object, event: HookEvent, hooks: Hooks) => unknown;

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("hostile getter");
    },
    has: () => {
      throw new Error("hostile has");
    },
  },
);

const MISBEHAVIOURS: Readonly<Record<string, Listen>> = {
  "throws at once": () => {
    throw new Error("thrown");
  },
  rejects: () => Promise.reject(new Error("rejected")),
  "never settles": () => new Promise(() => {}),
  "tries to mutate": (payload) => {
    for (const key of Object.keys(payload)) {
      const inner: unknown = Reflect.get(payload, key);
      if (typeof inner === "object" && inner !== null) {
        for (const field of Object.keys(inner)) Reflect.set(inner, field, 1e9);
      }
      Reflect.set(payload, key, "changed");
      Reflect.deleteProperty(payload, key);
    }
    Reflect.set(payload, "extra", true);
    Reflect.setPrototypeOf(payload, hostile);
  },
  "throws undefined": () => {
    raise(undefined);
  },
  "throws a hostile object": () => {
    raise(hostile);
  },
  "returns a hostile object": () => hostile,
  "dispatches the same event again, for ever": (_payload, event, hooks) => void dispatchSample(hooks, event),
};

interface Outcome {
  readonly output: string;
  readonly dispatched: readonly HookEvent[];
}

/** A small run: dispatches every event, hands out objects of its own, and answers from its own state. */
function fakeRun(hooks: Hooks): Outcome {
  const payloads = samples();
  const dispatched: HookEvent[] = [];
  const spent: Usage[] = [];
  for (const event of EVENTS) {
    void dispatchSample(hooks, event, payloads);
    dispatched.push(event);
    if (event === HookEvent.LLM_END) spent.push(payloads.llm_end.usage);
  }
  return { output: JSON.stringify({ spent, payloads }), dispatched };
}

async function isDrained(hooks: Hooks, clock: VirtualClock): Promise<boolean> {
  let drained = false;
  const wait = async (): Promise<void> => {
    await hooks.drain?.();
    drained = true;
  };
  const failed = wait().catch(() => {});
  await clock.runAll();
  await Promise.race([failed, new Promise((resolve) => setImmediate(resolve))]);
  return drained;
}

const expected = fakeRun(NO_HOOKS);

describe.each(Object.entries(MISBEHAVIOURS))("T8: a hook that %s", (_name, listen) => {
  test.each(EVENTS)("on %s: the run ends as it does without the hook, and drain ends", async (event) => {
    const clock = virtualClock();
    const hooks = new HookManager({ clock });
    let heard = 0;
    let others = 0;
    hooks.on(event, (payload) => {
      heard++;
      return listen(payload, event, hooks);
    });
    hooks.on(event, () => others++);
    expect(fakeRun(hooks)).toEqual(expected);
    expect(await isDrained(hooks, clock)).toBe(true);
    expect(heard).toBeGreaterThan(0);
    expect(others).toBe(heard);
    expect(clock.pending).toBe(0);
  });
});

/** What a manager would be without the care: it calls and collects. */
function naiveHooks(event: HookEvent, listen: Listen): Hooks {
  const pending: Promise<unknown>[] = [];
  const hooks: Hooks = {
    has: (name) => name === event,
    dispatch: (name, payload) => {
      if (name !== event) return;
      const promise = Promise.resolve(listen(payload, event, hooks));
      promise.catch(() => {});
      pending.push(promise);
    },
    drain: () => Promise.all(pending).then(() => {}),
  };
  return hooks;
}

test.each(Object.entries(MISBEHAVIOURS))(
  "T8: the matrix bites: a manager without isolation is caught by a hook that %s",
  async (_name, listen) => {
    const clock = virtualClock();
    const hooks = naiveHooks(HookEvent.LLM_END, listen);
    let same: boolean;
    try {
      same = JSON.stringify(fakeRun(hooks)) === JSON.stringify(expected);
    } catch {
      same = false;
    }
    expect(same && (await isDrained(hooks, clock))).toBe(false);
  },
);
