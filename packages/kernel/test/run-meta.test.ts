import { describe, expect, test } from "vitest";
import {
  AgentId,
  CancellationError,
  CancellationToken,
  DeadlineExceededError,
  ExecId,
  RunMeta,
  Supervision,
} from "@ravi/kernel";

function clockAt(time: number): { now(): number; time: number } {
  return {
    time,
    now() {
      return this.time;
    },
  };
}

/** Time that is set by hand, with timers, and what came of each. */
function timerClock(time: number) {
  const timers = new Set<{ readonly at: number; readonly fire: () => void }>();
  let unrefs = 0;
  let longest = 0;
  return {
    now: () => time,
    setTimer(fire: () => void, delayMs: number) {
      const timer = { at: time + delayMs, fire };
      longest = Math.max(longest, delayMs);
      timers.add(timer);
      return { cancel: () => void timers.delete(timer), unref: () => void unrefs++ };
    },
    move(to: number) {
      time = to;
      for (const timer of timers) if (timer.at <= to && timers.delete(timer)) timer.fire();
    },
    get pending() {
      return timers.size;
    },
    get longest() {
      return longest;
    },
    get unrefs() {
      return unrefs;
    },
  };
}

describe("R8: RunMeta", () => {
  test("R8: standalone makes its own ids and token, and is frozen", () => {
    const meta = RunMeta.standalone({ tenantId: "acme" });
    expect(Object.isFrozen(meta)).toBe(true);
    expect(meta).toMatchObject({ supervision: null, deadline: null, tenantId: "acme" });
    expect(meta.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(meta.spanId).toMatch(/^[0-9a-f]{16}$/);
    expect([meta.traceId, meta.spanId]).toEqual([meta.traceId, meta.spanId]);
    expect(RunMeta.standalone().runId).not.toBe(meta.runId);
  });

  test("R8: its ids come from the source that it is given, which has to be one", () => {
    let made = 0;
    const ids = { uuid: () => `0000000${++made}-1111-4222-8333-444444444444`, random: () => 0.5 };
    const meta = RunMeta.standalone({ ids });
    expect(meta.runId).toBe("00000001-1111-4222-8333-444444444444");
    expect(meta.traceId).toBe("00000002111142228333444444444444");
    expect(meta.spanId).toMatch(/^0000000311114222/);
    const odd: object = { uuid: () => "run-1" };
    expect(() => RunMeta.standalone({ ids: odd as typeof ids })).toThrow(/runMeta\.ids/);
  });

  test("R8: in a tree it takes the run's id from its place", () => {
    const supervision = Supervision.root(AgentId("lead"));
    expect(RunMeta.of({ supervision }).runId).toBe(supervision.runId);
  });

  test("R8: check throws when cancelled", () => {
    const meta = RunMeta.standalone();
    meta.check();
    meta.cancellation.cancel("stop");
    expect(() => meta.check()).toThrow(CancellationError);
  });

  test("R8: a deadline raises its own error, which is a cancellation, and aborts the signal", () => {
    const clock = clockAt(1_000);
    const meta = RunMeta.standalone({ deadline: 2_000, clock });
    const { signal } = meta.cancellation;
    clock.time = 2_000;
    meta.check();
    clock.time = 2_001;
    expect(() => meta.check()).toThrow(DeadlineExceededError);
    expect(() => meta.check()).toThrow(CancellationError);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBeInstanceOf(DeadlineExceededError);
  });

  test("R8: a cancellation that came first is what is thrown, also past the deadline", () => {
    const clock = clockAt(5);
    const meta = RunMeta.standalone({ deadline: 10, clock });
    meta.cancellation.cancel("user");
    clock.time = 11;
    expect(() => meta.check()).toThrow("cancelled: user");
  });

  test("R8: a child has a child token, a new span in the same trace, and the earlier deadline", () => {
    const parent = RunMeta.standalone({ deadline: 100, tenantId: "acme" });
    const child = parent.child({ execId: ExecId(parent.runId, "hire:a#1"), deadline: 200 });
    expect(child.deadline).toBe(100);
    expect(parent.child({ deadline: 50 }).deadline).toBe(50);
    expect(parent.child().deadline).toBe(100);
    expect(RunMeta.standalone().child({ deadline: 7 }).deadline).toBe(7);
    expect(child.traceId).toBe(parent.traceId);
    expect(child.spanId).not.toBe(parent.spanId);
    expect(child).toMatchObject({
      runId: parent.runId,
      execId: `${parent.runId}/hire:a#1`,
      tenantId: "acme",
    });
    child.cancellation.cancel("child only");
    expect(parent.cancellation.isCancelled).toBe(false);
    parent.cancellation.cancel("all");
    expect(parent.child().cancellation.reason).toBe("all");
  });

  test("R8: a deadline that is no time is refused", () => {
    expect(() => RunMeta.standalone({ deadline: Number.NaN })).toThrow(/runMeta.deadline is NaN/);
  });

  test("R8: standalone's deadline fires by itself where the clock has timers, and aborts what hangs", () => {
    const clock = timerClock(1_000);
    const meta = RunMeta.standalone({ deadline: 2_000, clock });
    const { signal } = meta.child().cancellation;
    expect([clock.pending, clock.unrefs]).toEqual([1, 1]);
    clock.move(1_999);
    expect(signal.aborted).toBe(false);
    clock.move(2_000);
    expect(signal.reason).toBeInstanceOf(DeadlineExceededError);
    expect(() => meta.check()).toThrow(DeadlineExceededError);
    expect(clock.pending).toBe(0);
  });

  test("R8: a deadline beyond what a platform's timer can count is waited for in steps", () => {
    const clock = timerClock(0);
    const { cancellation } = RunMeta.standalone({ deadline: 2 ** 32, clock });
    const delays = [clock.longest];
    for (const time of [2 ** 31 - 1, 2 ** 32 - 2, 2 ** 32]) {
      expect(cancellation.isCancelled).toBe(false);
      clock.move(time);
      delays.push(clock.longest);
    }
    expect([cancellation.isCancelled, clock.pending]).toEqual([true, 0]);
    expect(Math.max(...delays)).toBeLessThan(2 ** 31);
  });

  test("R8: no timer is left behind, whether the token is cancelled or disposed of, above it too", () => {
    const clock = timerClock(0);
    const options = { deadline: 10, clock };
    RunMeta.standalone(options).cancellation.cancel("stop");
    RunMeta.standalone(options).cancellation.dispose();
    const parent = new CancellationToken();
    RunMeta.standalone({ ...options, cancellation: parent.child() });
    const disposed = parent.child();
    RunMeta.standalone({ ...options, cancellation: disposed });
    expect(clock.pending).toBe(2);
    disposed.dispose();
    expect(clock.pending).toBe(1);
    parent.cancel("stop");
    expect(clock.pending).toBe(0);
    // Over before it began.
    RunMeta.standalone({ ...options, cancellation: disposed });
    RunMeta.standalone({ ...options, cancellation: parent });
    expect(clock.pending).toBe(0);
  });

  test("R8: only standalone sets a timer: a runtime sets its own, and no deadline needs none", () => {
    const clock = timerClock(0);
    RunMeta.of({ deadline: 10, clock });
    RunMeta.standalone({ clock }).child({ deadline: 5 });
    expect(clock.pending).toBe(0);
  });

  test("R8: a given token is used, and its signal reaches every child", () => {
    const cancellation = new CancellationToken();
    const child = RunMeta.standalone({ cancellation }).child().child();
    const { signal } = child.cancellation;
    cancellation.cancel("stop");
    expect(signal.aborted).toBe(true);
  });
});
