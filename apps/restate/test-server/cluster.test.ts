import { expect, test } from "vitest";
import { freePorts, RestateServer } from "../src/server.ts";
import { expected, Scene, SPREAD } from "./scene.ts";

const TASK = { researchers: 3, steps: 5 } as const;

test("T5: one of three nodes is killed in the middle; the run ends on the other two, and what was recorded is paid for once", async () => {
  const nodes = [await freePorts(), await freePorts(), await freePorts()];
  const start = (place: number): Promise<RestateServer> =>
    RestateServer.start({ cluster: { nodes, place }, settings: SPREAD });
  const [first, second, third] = await Promise.all([start(0), start(1), start(2)]);
  try {
    await using scene = await Scene.open({ delayMs: 60, server: first });
    await scene.workersAtWork(2);
    const handle = scene.client.run(scene.lead, JSON.stringify(TASK), { runId: "cluster" });
    await scene.until(() => scene.bill().size >= 5);
    await third.kill();
    const { status, output, inDoubt = [] } = await handle.result;
    expect([status, output]).toEqual(["completed", expected(TASK.researchers, TASK.steps)]);
    const bill = scene.bill();
    expect(bill.size).toBe(TASK.researchers * TASK.steps + 1);
    expect(Math.max(...bill.values())).toBeLessThanOrEqual(2);
    const twice = [...bill].filter(([, times]) => times > 1).map(([key]) => key);
    expect([...inDoubt]).toEqual(expect.arrayContaining(twice));
  } finally {
    await second.stop();
    await third.stop();
  }
});
