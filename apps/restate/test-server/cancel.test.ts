import { once } from "node:events";
import { expect, test } from "vitest";
import { run } from "../src/worker-process.ts";
import { Scene } from "./scene.ts";

test("R9: a cancel from another process ends the calls that all workers have in flight", async () => {
  await using scene = await Scene.open({ delayMs: 600_000 });
  await scene.workersAtWork(2);
  const handle = scene.client.run(scene.lead, JSON.stringify({ researchers: 12, steps: 3 }), {
    runId: "long",
  });
  await scene.until(() => scene.calls.underWay === 12);
  expect(scene.calls.callers.size).toBe(2);
  const { ingress, admin } = scene.server;
  const canceller = run("cancel", [`--ingress=${ingress}`, `--admin=${admin}`, "long"]);
  let said = "";
  canceller.stdout?.on("data", (data: Buffer) => (said += data.toString()));
  const exited = once(canceller, "close");
  await scene.until(() => scene.calls.underWay === 0);
  const ended = Date.now();
  await exited;
  const accepted = Number(/accepted at (\d+)/.exec(said)?.[1]);
  console.log(`the twelve calls had ended ${ended - accepted} ms after the cancel was accepted`);
  const { status, error } = await handle.result;
  expect([status, error?.message]).toEqual(["cancelled", expect.stringContaining("changed their mind")]);
  expect(scene.bill().size).toBe(12);
});
