import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContext, runInContext, runInNewContext } from "node:vm";
import { loopbackOpenAI } from "@ravi/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundle, inMemory } from "../src/browser.ts";
import { sh } from "../src/shell.ts";
import { root } from "../src/workspace.ts";

// Jest and the vm pools of vitest run tests and packages in a realm of their own: with all that Node has, and with an `Error` of which
// nothing that Node itself throws is an instance.

const TIMEOUT = 120_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ravi-realm-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(["openai", "anthropic"])(
  "in another realm, a connection to %s that is refused says so and costs nothing",
  { timeout: TIMEOUT },
  async (name) => {
    const server = await loopbackOpenAI({ script: [] });
    await server.close();
    const told = await inRealm(
      "packages/sdk",
      `
      import { agent, model, run } from "@ravi/sdk";
      const client = model("${name}:m", { baseURL: "${server.url}", apiKey: "k" });
      globalThis.told = run(agent({ name: "a", model: client }), "x", { retry: false }).then(
        ({ error, usage }) => [error.message, usage.outputTokens],
      );`,
    );
    expect(told).toEqual([`${name}/m: Connection error. (ECONNREFUSED)`, 0]);
  },
);

test("in another realm, the reason of an abort is that of its signal", { timeout: TIMEOUT }, async () => {
  const told = await inRealm(
    "packages/sdk",
    `
    import { CancellationToken } from "@ravi/kernel";
    globalThis.told = new CancellationToken(AbortSignal.abort()).reason;`,
  );
  expect(told).toBe("This operation was aborted");
});

test("in another realm, the run of a killed process can be resumed", { timeout: TIMEOUT }, async () => {
  const sdk = JSON.stringify(join(root, "packages/sdk/dist/index.js"));
  const journal = JSON.stringify(join(folder, "journal"));
  const killed = await sh(process.execPath, [
    "--input-type=module",
    "--eval",
    `import { agent, run } from ${sdk};
     const model = { id: "m", info: { provider: "p", model: "m" }, generate: () => process.kill(process.pid, "SIGKILL") };
     await run(agent({ name: "a", model }), "x", { journal: ${journal}, runId: "killed" });`,
  ]);
  expect(killed).toMatchObject({ code: 137, stderr: "" });
  const told = await inRealm(
    "packages/sdk",
    `
    import { agent, resume } from "@ravi/sdk";
    const response = { message: { role: "assistant", content: "Done." }, finishReason: "stop" };
    const model = { id: "m", info: { provider: "p", model: "m" }, generate: async () => response };
    globalThis.told = resume("killed", { agents: agent({ name: "a", model }), journal: ${journal} }).then(
      ({ output }) => output,
    );`,
  );
  expect(told).toBe("Done.");
});

test(
  "in another realm, a cassette and a session begin where there is no file yet",
  { timeout: TIMEOUT },
  async () => {
    const told = await inRealm(
      "apps/acceptance",
      `
    import { FileSessionStore } from "@ravi/session";
    import { record, scriptedModel } from "@ravi/testing";
    async function tell() {
      const sessions = new FileSessionStore(${JSON.stringify(join(folder, "sessions"))});
      const model = record(scriptedModel(["It rains."]), ${JSON.stringify(join(folder, "cassette.jsonl"))});
      const { message } = await model.generate({ messages: [{ role: "user", content: "x" }] });
      return [await sessions.list(), message.content];
    }
    globalThis.told = tell();`,
    );
    expect(told).toEqual([[], "It rains."]);
  },
);

/**
 * Bundles a program as if it were in a folder of the workspace, from where it finds the built packages, and runs it in a realm of its
 * own. Returns what it has left in `told`.
 */
async function inRealm(workspace: string, program: string): Promise<unknown> {
  const main = join(root, workspace, "main.ts");
  const { code, missing } = await bundle(
    main,
    { platform: "node", plugins: [inMemory(new Map([[main, program]]))] },
    { format: "cjs" },
  );
  expect(missing).toEqual([]);
  const own = new Set<string>(runInNewContext("Object.getOwnPropertyNames(globalThis)"));
  // Node warns when a storage is read that has no file.
  const shared = Object.getOwnPropertyNames(globalThis).filter(
    (name) => !own.has(name) && !name.endsWith("Storage"),
  );
  const context: { told?: unknown } = createContext({
    ...Object.fromEntries(shared.map((name) => [name, Reflect.get(globalThis, name)])),
    require: createRequire(main),
    module: {},
    exports: {},
  });
  runInContext(code, context);
  return JSON.parse(JSON.stringify(await context.told));
}
