import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { createContext, runInContext } from "node:vm";
import { afterAll, describe, expect, test } from "vitest";
import { browserGlobals, bundle } from "../src/browser.ts";
import { emptyConsumer, installAlone, linkDependencies } from "../src/consumer.ts";
import { sh } from "../src/shell.ts";
import { removeTarballs, tarballOf } from "../src/tarballs.ts";
import { readWorkspace, root } from "../src/workspace.ts";

const TIMEOUT = 120_000;

afterAll(removeTarballs);

const program = `
import { AgentId, type AbortSignalLike, type Agent, CancellationToken, defineTool, isRaviError, type Lease, spawnBudget, Supervision } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";

const echo: Agent = {
  id: AgentId("echo"),
  run: async (ctx, inbox) => ({ status: "completed", output: ctx.agentId + ": " + inbox.input, stopReason: "done" }),
};
const ctx = bareContext({ agentId: AgentId("echo") });
const result = await echo.run(ctx, ctx.inbox("hello"));
if (result.output !== "echo: hello") throw new Error(result.output);

const signal: AbortSignalLike = new CancellationToken().signal;
const lease: Pick<Lease, "agentId"> = { agentId: Supervision.root(AgentId("lead")).agentId };
const tool = defineTool({ name: "raw", description: "", input: { type: "object" }, execute: () => "" });
try {
  spawnBudget({ maxAgents: 0 });
} catch (error) {
  if (isRaviError(error, "INVALID_VALUE")) console.log(error.message, signal.aborted, lease.agentId, tool.name);
}
`;

describe("the packed kernel, installed into an empty folder", () => {
  test("type-checks in every setting, and runs", { timeout: TIMEOUT }, async () => {
    await using consumer = await emptyConsumer();
    const tarball = await tarballOf("packages/kernel");
    const installed = await sh("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], {
      cwd: consumer.folder,
    });
    expect(installed).toMatchObject({ code: 0 });
    expect(installed.stdout).toContain("added 1 package");

    await consumer.write("main.ts", program);
    const resolutions = [
      { module: "nodenext", moduleResolution: "nodenext", target: "es2023" },
      { module: "esnext", moduleResolution: "bundler", target: "es2023" },
    ];
    for (const resolution of resolutions) {
      for (const lib of [["ES2023"], ["ES2023", "DOM"], ["ESNext", "DOM"]]) {
        // The program logs, which is no part of the language: without DOM it says so itself.
        await consumer.write(
          "console.d.ts",
          lib.includes("DOM") ? "export {};" : "declare const console: { log(...values: unknown[]): void };",
        );
        const compiled = await consumer.compile({ ...resolution, lib }, ["main.ts", "console.d.ts"]);
        expect({ lib, resolution, ...compiled }).toMatchObject({ stdout: "", code: 0 });
      }
    }
    expect(await consumer.run("main.ts")).toMatchObject({
      code: 0,
      stdout: "spawnBudget.maxAgents is 0; expected a whole number of at least 1 false lead raw\n",
    });
  });

  test("fits together with another copy of itself", { timeout: TIMEOUT }, async () => {
    await using consumer = await emptyConsumer();
    await consumer.install("packages/kernel");
    const other = await consumer.install("packages/kernel", "vendor");
    // The compiler takes two installs of one version for the same package; another version makes them two.
    const manifest = JSON.parse(await readFile(join(other, "package.json"), "utf8")) as object;
    await consumer.write(
      relative(consumer.folder, join(other, "package.json")),
      JSON.stringify({ ...manifest, version: "9.9.9" }),
    );

    await consumer.write(
      "vendor/agent.ts",
      `import { type Agent, AgentId, BudgetExhaustedError, type CancellationToken, defineTool, type Supervision, type Tool } from "@ravi/kernel";
       export const tool: Tool = defineTool({ name: "t", description: "", input: { type: "object" }, execute: () => "" });
       export const spendthrift: Agent = {
         id: AgentId("spendthrift"),
         run: async (ctx) => {
           ctx.meta.cancellation.check();
           throw new BudgetExhaustedError({ dimension: "cost", used: 5, limit: 5, scope: ctx.agentId });
         },
       };
       export const nameOf = (node: Supervision, token: CancellationToken): string => node.agentId + token.isCancelled;`,
    );
    await consumer.write(
      "main.ts",
      `import { type Agent, AgentId, BudgetExhaustedError, CancellationToken, isRaviError, Supervision, type Tool } from "@ravi/kernel";
       import { bareContext } from "@ravi/kernel/loop";
       import { nameOf, spendthrift, tool } from "./vendor/agent.ts";
       const agent: Agent = spendthrift;
       const tools: readonly Tool[] = [tool];
       const outcome = await bareContext().hire({ agent, input: "" });
       if (!("error" in outcome)) throw new Error(outcome.status);
       const { error } = outcome;
       console.log(isRaviError(error, "BUDGET_EXHAUSTED") && error.dimension, error instanceof BudgetExhaustedError, tools.length);
       console.log(nameOf(Supervision.root(AgentId("lead")), new CancellationToken()));`,
    );
    const settings = {
      module: "nodenext",
      target: "es2023",
      lib: ["ES2023", "DOM"],
      allowImportingTsExtensions: true,
    };
    expect(await consumer.compile(settings, ["main.ts"])).toMatchObject({ stdout: "", code: 0 });
    expect(await consumer.run("main.ts")).toMatchObject({ code: 0, stdout: "cost true 1\nleadfalse\n" });
  });
});

describe("a package's README example, with the kernel and that package alone", () => {
  const published = readWorkspace().filter(
    ({ folder, manifest }) => folder.startsWith("packages/") && manifest.private !== true,
  );

  test.each(published.map(({ folder }) => folder))("%s", { timeout: TIMEOUT }, async (folder) => {
    await using consumer = await emptyConsumer();
    await consumer.install("packages/kernel");
    if (folder !== "packages/kernel") await consumer.install(folder);
    await linkDependencies(consumer, folder);
    const example = await readFile(join(root, folder, "test/readme.example.ts"), "utf8");
    // What stands in for a server or a model, where an example needs one.
    if (folder !== "packages/testing" && example.includes('"@ravi/testing"'))
      await consumer.install("packages/testing");
    await consumer.write("example.ts", example);
    expect(await consumer.run("example.ts")).toMatchObject({ stderr: "", code: 0 });
  });
});

test(
  "the sdk alone, where nothing else is in reach, is enough to name all that it gives",
  { timeout: TIMEOUT },
  async () => {
    await using consumer = await emptyConsumer();
    await installAlone(consumer, "packages/sdk");
    await consumer.write(
      "main.ts",
      `import { agent, BudgetExhaustedError, estimate, ExecutionTracker, getRunScope, HookManager, isRaviError, type LLMClient, model, resume, run, runs, start, startResume, team, tool } from "@ravi/sdk";
     import type { AgentOptions, ChatContext, FunctionContext, Hooks, Journal, JournalRecord, Layers, Ledger, Middleware, ModelRequest, Next, Pipeline, PostedRecord, Remaining, Reservation, RunContext, RunId, RunOptions, Settlement, Spend, TeamOptions } from "@ravi/sdk";
     export const search = tool({ name: "search", description: "", input: { type: "object" }, execute: () => ({ found: 1 }) });
     export const clerk = agent({ name: "clerk", model: "openai:x", tools: [search] });
     export const lead = team({ name: "lead", model: "openai:x", members: [clerk] });
     export const member = lead.asDelegate();
     export const { defaults, output, pipelines } = clerk;
     export const go = () => run(lead, "x");
     export const going = () => start(clerk, "x");
     export const again = () => resume("x", { agents: clerk, journal: ".ravi" });
     export const goingAgain = () => startResume("x", { agents: clerk, journal: ".ravi" });
     export const known = () => runs({ journal: ".ravi" });
     export const cost = () => estimate(clerk, "x");
     export const client = model("openai:x");
     export const { info } = client;
     export const scope = () => getRunScope();
     export const errorOf = async () => (await go()).error;
     export const treeOf = async () => (await go()).tree.root;
     export const events = () => going().events();
     export const scopeOf = (error: unknown) => (isRaviError(error, "BUDGET_EXHAUSTED") ? error : undefined);
     export const dimensionOf = (error: unknown) => (isRaviError(error, "BUDGET_EXHAUSTED") ? error.dimension : undefined);
     export const kindOf = (error: unknown) => (isRaviError(error, "PROVIDER_ERROR") ? error.kind : undefined);
     export const jsonOf = (error: BudgetExhaustedError) => error.toJSON();
     export const hire = (ctx: RunContext) => ctx.hire({ agent: clerk, input: "x" });
     export const spawn = (ctx: RunContext) => ctx.spawn(clerk, { input: "x" });
     export const methods = (ctx: RunContext, pipeline: Pipeline<ChatContext>) => [ctx.hire, ctx.spawn, ctx.batch, pipeline.run, pipeline.runDirect] as const;
     export const batch = (ctx: RunContext) => ctx.batch([{ kind: "hire", agent: clerk, input: "x" }, { kind: "llm", model: client, request: { messages: [] } }]);
     export const asked = (ctx: RunContext) => [ctx.meta, ctx.supervision, ctx.budget, ctx.window(), ctx.now()] as const;
     export const layersOf = ({ agent, chat, function: tools }: Layers) => [agent, chat, tools] as const;
     export const hostOf = ({ clock, compaction, history, ids, limiter, prices, restart, retry }: RunOptions) => [clock, compaction, history, ids, limiter, prices, restart, retry] as const;
     export const optionsOf = ({ context, instructions, loopDetection, settings }: AgentOptions) => [context, instructions, loopDetection, settings] as const;
     export const hiringOf = ({ dynamicHiring, members, retryPolicy }: TeamOptions) => [dynamicHiring, members, retryPolicy] as const;
     export const dispatch = (hooks: Hooks) => hooks.dispatch;
     export const observers = (hooks: HookManager) => [hooks.on, hooks.onAny] as const;
     export const generate = ({ generate, stream }: LLMClient) => [generate, stream] as const;
     export const stored = ({ items, load, post, watch }: Journal) => [items, load, post, watch] as const;
     export const spent = (tracker: ExecutionTracker) => [tracker.used, tracker.remaining(), tracker.reserve({ tokens: 1 })] as const;
     export const pretend = (says: (request: ModelRequest) => string): LLMClient => ({
       id: "pretend",
       info: { provider: "pretend", model: "pretend" },
       generate: async (request) => ({ message: { role: "assistant", content: says(request) }, finishReason: "stop" }),
     });
     export class Timing implements Middleware<FunctionContext> {
       readonly level = "function";
       process(context: FunctionContext, next: Next): Promise<void> { return next(); }
     }
     export const calm: Middleware<ChatContext> = { level: "chat", process: (context, next) => next() };
     export class Purse implements Ledger {
       readonly used: Spend = { tokens: 0, cost: 0, turns: 0, toolCalls: 0 };
       reserve(): Reservation { return { settle: () => this.charge(), cancel() {} }; }
       charge(): Settlement { return { warnings: [], exceeded: [] }; }
       child(): Ledger { return this; }
       remaining(): Remaining { return { tokens: null, cost: null, turns: null, toolCalls: null }; }
       snapshot() { return {}; }
     }
     export class Diary implements Journal {
       claim(runId: RunId, owner: string, ttlMs: number) { return { epoch: 1 }; }
       release() {}
       load(): JournalRecord[] { return []; }
       append() {}
       post() {}
       items(): PostedRecord[] { return []; }
       list() { return []; }
       delete() {}
       close() {}
     }
     if (!(new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "a" }) instanceof Error)) throw new Error();`,
    );
    const settings = { module: "nodenext", target: "es2023", lib: ["ES2023", "DOM", "ESNext.Disposable"] };
    const declared = { ...settings, noEmit: false, declaration: true, outDir: "out", skipLibCheck: true };
    expect(await consumer.compile(declared, ["main.ts"])).toMatchObject({ stdout: "", code: 0 });
    expect(await consumer.run("out/main.js")).toMatchObject({ stderr: "", code: 0 });
  },
);

test("the packed sdk has the program ravi, which needs nothing else", { timeout: TIMEOUT }, async () => {
  await using consumer = await emptyConsumer();
  await installAlone(consumer, "packages/sdk");
  const folder = join(consumer.folder, "node_modules/@ravi/sdk");
  const { bin, version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly bin: { readonly ravi: string };
    readonly version: string;
  };
  const ravi = (...args: readonly string[]) =>
    sh(process.execPath, [join(folder, bin.ravi), ...args], { cwd: consumer.folder });
  expect(await ravi("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
  const none = { code: 1, stderr: 'ravi: journal is ".ravi"; expected a folder with a ravi.db\n' };
  expect(await ravi("runs")).toMatchObject(none);
});

test("a wrong option of the sdk is one error, at the option", { timeout: TIMEOUT }, async () => {
  await using consumer = await emptyConsumer();
  await installAlone(consumer, "packages/sdk");
  await consumer.write(
    "main.ts",
    `import { agent, resume, run, start, startResume } from "@ravi/sdk";
const clerk = agent({ name: "clerk", model: "openai:x" });
void run(clerk, "x", { jurnal: ".ravi" });
start(clerk, "x", { budget: { dollars: 1 } });
void resume("x", { agents: [clerk], jurnal: ".ravi" });
startResume("x", { agents: clerk, journal: ".ravi", decisions: { key: "again" } });
void run("clerk", "x");`,
  );
  const settings = { module: "nodenext", target: "es2023", lib: ["ES2023", "DOM", "ESNext.Disposable"] };
  const { stdout } = await consumer.compile({ ...settings, skipLibCheck: true }, ["main.ts"]);
  // Where, which error, and the start of what it says.
  expect(stdout.match(/main\.ts\(.*?'.+?'/g)).toEqual([
    "main.ts(3,24): error TS2561: Object literal may only specify known properties, but 'jurnal'",
    "main.ts(4,31): error TS2353: Object literal may only specify known properties, and 'dollars'",
    "main.ts(5,37): error TS2561: Object literal may only specify known properties, but 'jurnal'",
    `main.ts(6,66): error TS2322: Type '"again"'`,
    "main.ts(7,10): error TS2345: Argument of type 'string'",
  ]);
  expect(stdout.trim().split("\n")).toHaveLength(5);
});

const WITHOUT_PLATFORM = [
  "architectures",
  "context",
  "flow",
  "hooks",
  "middleware",
  "orchestrator",
  "react-agent",
  "resources",
  "runtime",
  "session",
  "supervision",
];

test(
  `the types of ${WITHOUT_PLATFORM.join(", ")} need neither those of Node nor those of a browser`,
  { timeout: TIMEOUT },
  async () => {
    await using consumer = await emptyConsumer();
    await installAlone(consumer, ...WITHOUT_PLATFORM.map((name) => `packages/${name}`));
    for (const name of WITHOUT_PLATFORM) await consumer.write(`${name}.ts`, `export * from "@ravi/${name}";`);
    // None of them brings such types along, which would be there for the others too.
    await consumer.write("absent.ts", "export const absent = [() => process, () => document];");
    const settings = { module: "nodenext", target: "es2023", lib: ["ES2023", "ESNext.Disposable"] };
    const files = [...WITHOUT_PLATFORM.map((name) => `${name}.ts`), "absent.ts"];
    const { stdout } = await consumer.compile(settings, files);
    expect(stdout.trim().split("\n")).toEqual([
      expect.stringMatching(/absent\.ts\(1,30\): .*Cannot find name 'process'/),
      expect.stringMatching(/absent\.ts\(1,45\): .*Cannot find name 'document'/),
    ]);
  },
);

test(
  "the types of provider-ai-sdk hold with those of a browser, which has fetch, and without the AI SDK",
  { timeout: TIMEOUT },
  async () => {
    await using consumer = await emptyConsumer();
    await installAlone(consumer, "packages/provider-ai-sdk");
    await consumer.write("main.ts", `export * from "@ravi/provider-ai-sdk";`);
    const settings = { module: "nodenext", target: "es2023", lib: ["ES2023", "ESNext.Disposable", "DOM"] };
    expect(await consumer.compile(settings, ["main.ts"])).toMatchObject({ stdout: "", code: 0 });
  },
);

describe("bundled", () => {
  test(
    "the sdk can do without its optional peers: only inside of a try may a module be missing",
    async () => {
      await using consumer = await emptyConsumer();
      await consumer.install("packages/kernel");
      await consumer.install("packages/sdk");
      await linkDependencies(consumer, "packages/sdk", { peers: false });
      await consumer.write("main.ts", `export * from "@ravi/sdk"; export * from "@ravi/resources";`);
      const { missing } = await bundle(join(consumer.folder, "main.ts"), { platform: "node" });
      expect(missing).toEqual([]);
    },
    TIMEOUT,
  );

  test.each(["tool", "DEFAULT_LIMITS"])(
    "a program that only uses %s of the sdk has no provider in it",
    async (name) => {
      await using consumer = await emptyConsumer();
      await consumer.install("packages/kernel");
      await consumer.install("packages/sdk");
      await linkDependencies(consumer, "packages/sdk");
      await consumer.write("main.ts", `import { ${name} } from "@ravi/sdk"; globalThis.told = ${name};`);
      // Unlike rolldown, most bundlers do not know that this call has no effect, and keep it.
      const plugins = [
        {
          name: "a bundler that knows less",
          transform: (source: string) => source.replaceAll("Object.freeze(", "globalThis.freeze("),
        },
      ];
      const { code } = await bundle(join(consumer.folder, "main.ts"), { platform: "node", plugins });
      expect(code).not.toMatch(/api\.(?:openai|anthropic)\.com/);
    },
    TIMEOUT,
  );

  test("an error is called the same after a minifier has renamed its class", async () => {
    await using consumer = await emptyConsumer();
    await consumer.install("packages/kernel");
    await consumer.write(
      "main.ts",
      `import * as kernel from "@ravi/kernel";
       const { BudgetExhaustedError, CancellationError, DeadlineExceededError, errorToJSON, InvalidValueError, RaviError } = kernel;
       const error = new BudgetExhaustedError({ dimension: "cost", used: 1, limit: 1, scope: "a" });
       class Own extends InvalidValueError {}
       globalThis.told = [
         error,
         errorToJSON(error),
         new CancellationError({ reason: "" }),
         new DeadlineExceededError({ deadline: 0 }),
         new RaviError({ code: "TOOL_ERROR", message: "" }),
         new Own({ field: "", value: 0, expected: "" }),
       ].map(({ name }) => name);
       globalThis.own = Own.name;`,
    );
    const { code } = await bundle(join(consumer.folder, "main.ts"), {}, { minify: true });
    const context: { told?: readonly string[]; own?: string } = createContext({ crypto });
    runInContext(code, context);
    expect([...(context.told ?? [])]).toEqual([
      "BudgetExhaustedError",
      "BudgetExhaustedError",
      "CancellationError",
      "DeadlineExceededError",
      "RaviError",
      context.own,
    ]);
  });

  test.each(["openai", "anthropic"])(
    "provider-%s works where there is no process",
    async (name) => {
      await using consumer = await emptyConsumer();
      await consumer.install("packages/kernel");
      await consumer.install(`packages/provider-${name}`);
      await linkDependencies(consumer, `packages/provider-${name}`);
      await consumer.write(
        "main.ts",
        `import { ${name} } from "@ravi/provider-${name}";
       const fetch = async () => new Response("no such thing", { status: 404 });
       globalThis.told = ${name}("m", { apiKey: "k", fetch })
         .generate({ messages: [{ role: "user", content: "Hi" }] })
         .catch((error) => error.code + " " + error.kind);`,
      );
      const { code } = await bundle(join(consumer.folder, "main.ts"), { platform: "browser" });
      const context: { told?: Promise<string> } = createContext(browserGlobals());
      runInContext(code, context);
      expect(await context.told).toBe("PROVIDER_ERROR MODEL_NOT_FOUND");
    },
    TIMEOUT,
  );
});
