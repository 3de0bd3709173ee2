import { InvalidValueError } from "@ravi/kernel";
import { expect, onTestFinished, test, vi } from "vitest";
import { GroupCommit, type GroupStore } from "../../src/journal/sqlite/group-commit.ts";

/** A store that does nothing but tell what was asked of it, and fail where it is told to. */
function fake(failing: (call: string, count: number) => Error | undefined = () => undefined) {
  const calls: string[] = [];
  const waits: number[] = [];
  const act = (call: string) => (): void => {
    calls.push(call);
    const error = failing(call, calls.filter((each) => each === call).length);
    if (error !== undefined) throw error;
  };
  const store: GroupStore = {
    path: "ravi.db",
    begin: act("begin"),
    finish: act("finish"),
    commit: act("commit"),
    rollback: act("rollback"),
    isBusy: (error) => error === BUSY,
  };
  const wait = (ms: number): Promise<void> => {
    waits.push(ms);
    return new Promise((resolve) => setImmediate(resolve));
  };
  return { calls, waits, commits: new GroupCommit({ store, busyTimeoutMs: 100, wait }) };
}

const BUSY = new Error("database is locked");
const IO = new Error("disk I/O error");
const FINAL = { code: "JOURNAL_FAILED", final: true, cause: IO };

test("writes of one turn share a transaction, each with its own answer", async () => {
  const { calls, commits } = fake();
  const results = [1, 2, 3].map((n) => commits.add(() => n));
  expect(await Promise.all(results)).toEqual([1, 2, 3]);
  expect(await commits.add(() => 4)).toBe(4);
  expect(calls).toEqual(["begin", "finish", "commit", "begin", "finish", "commit"]);
});

test("writes are committed although a test runner has replaced the timers", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { commits } = fake();
  const added = commits.add(() => 1);
  expect(vi.getTimerCount()).toBe(0);
  expect(await added).toBe(1);
});

test("a refusal is one write's own; the group is committed without it", async () => {
  const { calls, commits } = fake();
  const refusal = new InvalidValueError({ field: "a", value: 1, expected: "2" });
  const good = commits.add(() => "good");
  const refused = commits.add(() => {
    throw refusal;
  });
  await expect(refused).rejects.toBe(refusal);
  expect(await good).toBe("good");
  expect(calls).toEqual(["begin", "finish", "commit"]);
});

test.each(["begin", "finish", "commit", "job"])(
  "a failing %s refuses its group and all that comes after",
  async (where) => {
    const { calls, commits } = fake((call, count) => (call === where && count === 2 ? IO : undefined));
    expect(await commits.add(() => "kept")).toBe("kept");
    const group = [
      commits.add(() => 1),
      commits.add(() => {
        if (where === "job") throw IO;
      }),
    ];
    const settled = await Promise.allSettled(group);
    expect(settled).toEqual([
      { status: "rejected", reason: expect.objectContaining(FINAL) },
      { status: "rejected", reason: expect.objectContaining(FINAL) },
    ]);
    const before = calls.length;
    await expect(commits.add(() => 2)).rejects.toMatchObject(FINAL);
    await commits.settled();
    expect(calls.length).toBe(before);
    expect(calls.at(-1)).toBe(where === "begin" ? "begin" : "rollback");
  },
);

test("where not even the rollback works, each write of the group is told of the first error", async () => {
  const { commits } = fake((call) =>
    call === "commit" ? IO : call === "rollback" ? new Error("no transaction is active") : undefined,
  );
  await expect(commits.add(() => 1)).rejects.toMatchObject(FINAL);
  await expect(commits.add(() => 2)).rejects.toMatchObject(FINAL);
});

test("while another process has the lock a group waits, and those behind it keep their order", async () => {
  const { calls, waits, commits } = fake((call, count) =>
    call === "begin" && count <= 3 ? BUSY : undefined,
  );
  const order: number[] = [];
  const first = commits.add(() => order.push(1));
  const second = first.then(() => order.push(3));
  await new Promise((resolve) => setImmediate(resolve));
  const late = commits.add(() => order.push(2));
  await Promise.all([first, second, late]);
  expect(order).toEqual([1, 2, 3]);
  expect(calls.filter((call) => call === "begin")).toHaveLength(4);
  expect(waits).toEqual([5, 10, 20]);
});

test("a lock that is held too long refuses the group, but not what comes later", async () => {
  let locked = true;
  const { waits, commits } = fake((call) => (call === "begin" && locked ? BUSY : undefined));
  await expect(commits.add(() => 1)).rejects.toMatchObject({
    code: "JOURNAL_FAILED",
    final: false,
    retryable: true,
    cause: BUSY,
  });
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(100);
  locked = false;
  expect(await commits.add(() => 2)).toBe(2);
});

test("settled waits for all that was added before, also where it fails", async () => {
  const { commits } = fake((call) => (call === "commit" ? IO : undefined));
  let done = false;
  const write = commits.add(() => 1).catch(() => (done = true));
  await commits.settled();
  await write;
  expect(done).toBe(true);
});
