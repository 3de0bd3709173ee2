import { describe, expect, it } from "vitest";
import { AgentId, ExecId, HookEvent, type Hooks, NO_HOOKS, RunId, SessionId } from "../src/index.ts";
import { bothHooks, tellOwn } from "../src/loop/both-hooks.ts";
import { guardedHooks } from "../src/loop/guarded-hooks.ts";

const { STEP_START, STEP_END } = HookEvent;

function fake(event: HookEvent, log: string[], name: string, drained?: Promise<void>): Hooks {
  return {
    has: (asked) => asked === event,
    dispatch: (told) => void log.push(`${name} ${told}`),
    drain: () => drained,
  };
}

function step() {
  const runId = RunId("run-1");
  const ids = { agentId: AgentId("lead"), runId, execId: ExecId(runId), sessionId: SessionId("s") };
  return { agentName: "lead", ...ids, at: 1, step: 1 };
}

describe("R20: an agent's own hooks beside those of its runtime", () => {
  it("R20: with one of the two there is nothing in between", () => {
    const hooks = fake(STEP_START, [], "one");
    expect(bothHooks(hooks, undefined)).toBe(hooks);
    expect(bothHooks(hooks, hooks)).toBe(hooks);
    expect(bothHooks(NO_HOOKS, hooks)).toBe(hooks);
  });

  it("R20: the same hooks are told once, also where they are guarded on one side", () => {
    const hooks = fake(STEP_START, [], "one");
    const guarded = guardedHooks(hooks);
    expect(bothHooks(guarded, hooks)).toBe(guarded);
    expect(bothHooks(hooks, guarded)).toBe(hooks);
    expect(guardedHooks(guarded)).toBe(guarded);
  });

  it("R20: who is among those that are told already is told once, however they are put together and guarded", () => {
    const [one, two, three] = ["one", "two", "three"].map((name) => fake(STEP_START, [], name));
    const pair = bothHooks(guardedHooks(one ?? NO_HOOKS), two);
    for (const told of [pair, guardedHooks(pair)]) {
      for (const hooks of [one, two]) expect(bothHooks(told, hooks)).toBe(told);
      expect(bothHooks(told, three)).not.toBe(told);
    }
  });

  it("R20: both are asked, and each is told what it listens to, the shared ones first", () => {
    const log: string[] = [];
    const both = bothHooks(fake(STEP_START, log, "shared"), fake(STEP_END, log, "own"));
    expect([STEP_START, STEP_END, HookEvent.RETRY].map((event) => both.has(event))).toEqual([
      true,
      true,
      false,
    ]);
    expect(both.dispatch(STEP_END, step())).toBeUndefined();
    expect(log).toEqual(["own step_end"]);
    const alike = bothHooks(fake(STEP_END, log, "shared"), fake(STEP_END, log, "own"));
    expect(alike.dispatch(STEP_END, step())).toBeUndefined();
    expect(log.slice(1)).toEqual(["shared step_end", "own step_end"]);
  });

  it("R20: what was made for an event is told as such to those who take it, and to others like any other", () => {
    const log: string[] = [];
    const taking = {
      ...fake(STEP_START, log, "shared"),
      dispatchOwn: (told: HookEvent) => void log.push(`shared own ${told}`),
    };
    const other = fake(STEP_START, log, "other");
    for (const hooks of [taking, other, bothHooks(taking, { ...taking })]) tellOwn(hooks, STEP_START, step());
    expect(log).toEqual([
      "shared own step_start",
      "other step_start",
      "shared own step_start",
      "shared own step_start",
    ]);
  });

  it("R20: what one of them would freeze is not what another may write to: then both are told like of any other", () => {
    const log: string[] = [];
    const writing: Hooks = {
      ...fake(STEP_START, log, "writing"),
      dispatch: (_told, payload) => void Reflect.set(payload, "seen", log.push("written")),
    };
    const freezing: Hooks = {
      ...fake(STEP_START, log, "freezing"),
      dispatchOwn: (_told, payload) => void Object.freeze(payload),
    };
    const pairs = [bothHooks(writing, freezing), bothHooks(freezing, writing)];
    for (const hooks of [...pairs, ...pairs.map((pair) => bothHooks(freezing, pair))]) {
      const payload = step();
      tellOwn(hooks, STEP_START, payload);
      expect([Object.isFrozen(payload), "seen" in payload]).toEqual([false, true]);
    }
  });

  it("R20: drain waits for whichever has something to wait for, and is no promise where neither has", async () => {
    const both = (shared?: Promise<void>, own?: Promise<void>): Hooks =>
      bothHooks(fake(STEP_START, [], "shared", shared), fake(STEP_START, [], "own", own));
    expect(both().drain?.()).toBeUndefined();
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    expect(both(first.promise).drain?.()).toBe(first.promise);
    expect(both(undefined, second.promise).drain?.()).toBe(second.promise);
    let isDrained = false;
    const drained = Promise.resolve(both(first.promise, second.promise).drain?.()).then(
      () => (isDrained = true),
    );
    first.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(isDrained).toBe(false);
    second.resolve();
    expect(await drained).toBe(true);
  });
});
