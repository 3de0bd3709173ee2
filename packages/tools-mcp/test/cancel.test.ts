import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { isCancellation } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { mcpTools, openMcp } from "@ravi/tools-mcp";
import { expect, test } from "vitest";
import { ask, defined, failureOf, fakeClient, server, told, underWay } from "./support.ts";

test("T4: a cancelled call ends before the server answers, and the server is told", async () => {
  await using raw = await openMcp(server("raw"));
  const controller = new AbortController();
  const { hanging } = await underWay(raw, "hang", { signal: controller.signal });
  controller.abort(new Error("enough"));
  // The server never answers: whatever ends this call, it is not an answer.
  expect(isCancellation(await failureOf(hanging))).toBe(true);
  expect(await told(raw, "cancelled")).toMatch(/^\[".*enough.*"\]$/);
});

test("T4: a call that waits for a server to start again can be cancelled", async () => {
  const client = fakeClient([defined("read")]);
  const tools = await mcpTools(client);
  client.announce();
  const listed = Promise.withResolvers<{ tools: readonly object[] }>();
  client.listTools = () => listed.promise;
  const controller = new AbortController();
  const waiting = ask(tools, "read", {}, { signal: controller.signal });
  controller.abort();
  expect(isCancellation(await failureOf(waiting))).toBe(true);
  listed.resolve({ tools: [defined("read")] });
  expect(await ask(tools, "read")).toMatchObject({ isError: false });
  expect(client.calls).toEqual(["read"]);
});

test("T4: a client that ignores the signal is not waited for", async () => {
  const tools = await mcpTools(fakeClient([defined("read")], () => new Promise(() => {})));
  const controller = new AbortController();
  const waiting = ask(tools, "read", {}, { signal: controller.signal });
  setImmediate(() => controller.abort());
  expect(isCancellation(await failureOf(waiting))).toBe(true);
});

test("T4: after a thousand calls, no listener is left on the signal of the run", async () => {
  let listeners = 0;
  const { signal } = new AbortController();
  const watched = new Proxy(signal, {
    get: (target, name) => {
      if (name === "addEventListener") listeners++;
      if (name === "removeEventListener") listeners--;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  await using raw = await openMcp(server("raw"));
  const [echo] = raw.tools.filter(({ name }) => name === "echo");
  const context = {
    signal: watched,
    scope: bareContext().scope,
    idempotencyKey: "",
    llm: () => Promise.reject(new Error()),
  };
  for (let n = 0; n < 50; n++)
    await Promise.all(Array.from({ length: 20 }, () => echo?.execute({ n }, context)));
  expect(listeners).toBe(0);
});

test("T4: a program ends by itself after it has closed a server with a call under way", async () => {
  const program = `
    import { openMcp } from "@ravi/tools-mcp";
    import { server, underWay } from ${JSON.stringify(join(import.meta.dirname, "support.ts"))};
    const raw = await openMcp(server("raw"));
    const controller = new AbortController();
    const { hanging } = await underWay(raw, "hang", { signal: controller.signal });
    controller.abort();
    await hanging.catch((error) => console.log(error.code));
    const { hanging: other } = await underWay(raw, "hang");
    await raw.close();
    console.log((await other).isError);`;
  const args = ["--conditions=@ravi/source", "--input-type=module", "--eval", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  expect({ stdout, stderr }).toEqual({ stdout: "CANCELLED\ntrue\n", stderr: "" });
});

test("T4: a program ends by itself after it has closed a server that it may not end", async () => {
  const program = `
    import { openMcp } from "@ravi/tools-mcp";
    import { virtualClock } from "@ravi/testing";
    import { server, told } from ${JSON.stringify(join(import.meta.dirname, "support.ts"))};
    const clock = virtualClock();
    const raw = await openMcp(server("raw", "stubborn"), { clock });
    console.log(await told(raw, "pid"));
    process.kill = () => { throw new Error("kill EPERM"); };
    const closing = raw.close();
    await clock.advance(6_000);
    await closing;`;
  const args = ["--conditions=@ravi/source", "--input-type=module", "--eval", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  expect({ stdout, stderr }).toEqual({ stdout: expect.stringMatching(/^\d+\n$/), stderr: "" });
  process.kill(Number(stdout), "SIGKILL");
});

test("T15: no code is made out of text, not even by the client: all of it works where that is forbidden", async () => {
  const args = [
    "--disallow-code-generation-from-strings",
    "--conditions=@ravi/source",
    join(import.meta.dirname, "readme.example.ts"),
  ];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: "" });
});
