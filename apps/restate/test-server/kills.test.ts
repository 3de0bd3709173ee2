import { expect, test } from "vitest";
import { expected, Scene } from "./scene.ts";

const TASK = { researchers: 4, steps: 6 } as const;
const CALLS = TASK.researchers * TASK.steps + 1;

interface Kill {
  readonly from: number;
  readonly to: number;
}

async function killed(act: () => Promise<void>): Promise<Kill> {
  const from = Date.now();
  await act();
  return { from, to: Date.now() };
}

/** What a process sent just before its end may be read and billed up to this much later. */
const LAG_MS = 1_000;

/**
 * A recorded call is paid for once. A call in flight at a kill is paid for once more and reported; one that is in flight at two
 * kills, twice more. So a kill must explain each repeat.
 */
function checkBill(scene: Scene, kills: readonly Kill[], inDoubt: readonly string[]): void {
  const bill = scene.bill();
  expect(bill.size).toBe(CALLS);
  expect(Math.max(...bill.values())).toBeLessThanOrEqual(1 + kills.length);
  const repeated = [...bill].filter(([, times]) => times > 1).map(([key]) => key);
  expect([...inDoubt]).toEqual(expect.arrayContaining(repeated));
  for (const key of repeated) {
    const paid = scene.model.bill().entries.filter(({ idempotencyKey }) => idempotencyKey === key);
    const left = [...kills];
    for (const [at, again] of paid.entries()) {
      const before = paid[at - 1];
      if (before === undefined) continue;
      const why = left.findIndex(({ from, to }) => to + LAG_MS >= before.at && from <= again.at);
      expect(why, `${key} was paid for again without a kill`).not.toBe(-1);
      left.splice(0, why + 1);
    }
  }
}

test("T5: a worker is killed in the middle; the run ends as if nothing had been, and no call is paid for more than twice", async () => {
  await using scene = await Scene.open({ delayMs: 40 });
  const [first] = await scene.workersAtWork(2);
  const handle = scene.client.run(scene.lead, JSON.stringify(TASK), { runId: "worker" });
  await scene.until(() => scene.bill().size >= 8);
  const kill = await killed(async () => first?.kill());
  const { status, output, inDoubt = [] } = await handle.result;
  expect([status, output]).toEqual(["completed", expected(TASK.researchers, TASK.steps)]);
  checkBill(scene, [kill], inDoubt);
});

test("T5: the server is killed in the middle; the run ends as if nothing had been, and no call is paid for more than twice", async () => {
  await using scene = await Scene.open({ delayMs: 40 });
  await scene.workersAtWork(2);
  const handle = scene.client.run(scene.lead, JSON.stringify(TASK), { runId: "server" });
  await scene.until(() => scene.bill().size >= 8);
  const kill = await killed(() => scene.server.kill());
  await scene.server.up();
  const { status, output, inDoubt = [] } = await handle.result;
  expect([status, output]).toEqual(["completed", expected(TASK.researchers, TASK.steps)]);
  checkBill(scene, [kill], inDoubt);
});

test("T5: a worker, then the server, then the other worker are killed; each kill makes a call repeated once at most", async () => {
  await using scene = await Scene.open({ delayMs: 40 });
  const [first, second] = await scene.workersAtWork(2);
  const handle = scene.client.run(scene.lead, JSON.stringify(TASK), { runId: "kills" });
  await scene.until(() => scene.bill().size >= 5);
  const kills = [await killed(async () => first?.kill())];
  await scene.until(() => scene.bill().size >= 10);
  kills.push(await killed(() => scene.server.kill()));
  await scene.server.up();
  await scene.until(() => scene.bill().size >= 15);
  await scene.worker("sk-loopback-0003");
  kills.push(await killed(async () => second?.kill()));
  const { status, output, inDoubt = [] } = await handle.result;
  expect([status, output]).toEqual(["completed", expected(TASK.researchers, TASK.steps)]);
  checkBill(scene, kills, inDoubt);
});
