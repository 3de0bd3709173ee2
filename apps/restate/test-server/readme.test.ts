import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RestateServer } from "../src/server.ts";

/** A program of the README, as a process. `said` is what it has printed so far. */
function start(program: string, env: Readonly<Record<string, string>>) {
  const file = join(import.meta.dirname, "../src/readme", program);
  const child = spawn(process.execPath, ["--conditions=@ravi/source", file], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (data: Buffer) => (text += data.toString()));
  return Object.assign(child, { said: () => text });
}

test("the README's worker registers itself, and its client starts a run, answers it and reads the result", async () => {
  const server = await RestateServer.start();
  const env = { RESTATE_INGRESS: server.ingress, RESTATE_ADMIN: server.admin, PORT: "0" };
  const worker = start("worker.ts", env);
  try {
    await Promise.race([once(worker.stdout, "data"), once(worker, "exit")]);
    expect(worker.said()).toMatch(/^greeter works on port \d+\n$/);
    const client = start("client.ts", env);
    await once(client, "close");
    expect([client.said(), client.exitCode]).toEqual(["completed Hello, Ada\n", 0]);
  } finally {
    worker.kill();
    await server.stop();
  }
});
