import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { expected, Scene } from "./scene.ts";

test("R24: a call whose server was killed between its admission and its payment pays nothing when it wakes", async () => {
  await using scene = await Scene.open({ delayMs: 5 });
  const hold = join(scene.server.directory, "hold");
  const zombie = await scene.worker("sk-loopback-dead", { hold });
  await scene.deploy();
  const handle = scene.client.run(scene.lead, JSON.stringify({ researchers: 1, steps: 3 }), {
    runId: "zombie",
  });
  await zombie.says("held");
  const living = await scene.worker("sk-loopback-live");
  expect(living.pid).not.toBe(zombie.pid);
  await scene.server.kill();
  await scene.server.up();
  const { status, output } = await handle.result;
  expect([status, output]).toEqual(["completed", expected(1, 3)]);
  const before = scene.bill();
  await writeFile(hold, "");
  await zombie.says("let go");
  // By the time this run is answered, the zombie has done whatever it was about to do.
  await scene.client.run(scene.lead, JSON.stringify({ researchers: 0, steps: 1 }), { runId: "after" }).result;
  expect(Math.max(...before.values())).toBe(1);
  expect([...scene.bill()].filter(([key]) => !key.startsWith("after"))).toEqual([...before]);
});
