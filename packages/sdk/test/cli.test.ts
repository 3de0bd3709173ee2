import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdtemp, open as openFile, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { AgentId, ProviderError, RunId } from "@ravi/kernel";
import { ExecutionTracker } from "@ravi/resources";
import { SqliteJournal } from "@ravi/runtime";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import {
  agent,
  type Agent,
  inspect,
  recordedEvents,
  resume,
  run,
  runs,
  start,
  team,
  tool,
  toolContent,
} from "@ravi/sdk";
import { cancelWords } from "../src/cli/list.ts";
import { perform } from "../src/cli/perform.ts";
import { questionOf } from "../src/cli/waits.ts";

// As scripts/bundle-programs.ts has bundled them.
const PROGRAM = join(import.meta.dirname, "../node_modules/.cache/programs/ravi.js");
const ASKING = join(import.meta.dirname, "../node_modules/.cache/programs/asking.js");

let journal: string;

beforeEach(async () => {
  journal = await mkdtemp(join(tmpdir(), "ravi-cli-"));
  onTestFinished(() => rm(journal, { recursive: true, force: true }));
});

/** The command in this process. */
const ravi = (...args: readonly string[]): Promise<string> => performed(args, { RAVI_JOURNAL: journal });

const performed = (args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> =>
  perform(args, env, () => {});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function started(file: string, args: readonly string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const env = { ...process.env, RAVI_JOURNAL: journal };
  const child = spawn(process.execPath, [file, ...args], { env });
  onTestFinished(() => void child.kill("SIGKILL"));
  const { promise: ended, resolve, reject } = Promise.withResolvers<Ended>();
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (text) => (stdout += String(text)));
  child.stderr.on("data", (text) => (stderr += String(text)));
  child.on("error", reject);
  child.on("close", (code) => resolve({ code, stdout, stderr }));
  return { child, ended };
}

/** The command as a program of its own. */
const program = (...args: readonly string[]): Promise<Ended> => started(PROGRAM, args).ended;

/** A clerk that pays a bill if it is allowed to, and then says what the tool said. */
function clerk(args: object = { usd: 12 }): Agent {
  const pay = tool({
    name: "pay",
    description: "Pays.",
    input: z.looseObject({}),
    needsApproval: true,
    execute: () => "paid",
  });
  const model = scriptedModel(({ messages }) => {
    const result = messages.find(({ role }) => role === "tool");
    return result === undefined
      ? { toolCalls: [{ name: "pay", arguments: { ...args } }] }
      : `told: ${String(result.content)}`;
  });
  return agent({ name: "clerk", model, tools: [pay] });
}

/** A run that waits for an approval and that no process has. */
async function waiting(runId = "run-1", args?: object, folder = journal): Promise<Agent> {
  const asking = clerk(args);
  const handle = start(asking, "Pay the bill.", { journal: folder, runId });
  for await (const { event } of handle.events())
    if (event.type === "progress" && event.name === "approvalRequested") break;
  await handle.suspend();
  return asking;
}

const speaker = (says: string): Agent => agent({ name: "speaker", model: scriptedModel([{ text: says }]) });

describe("a run in another process", () => {
  test("is found, shown and approved by the program, and goes on", async () => {
    const other = started(ASKING, ["start", journal]);
    await expect.poll(() => runs({ journal }), { timeout: 20_000 }).toMatchObject([{ waitingFor: [{}] }]);

    expect(await ravi("runs")).toMatch(
      /run-1 +clerk@1 +running .* ago +clerk waits for an approval \(pay\)$/m,
    );
    const shown = await ravi("show", "run-1");
    expect(shown).toContain(`process     process ${other.child.pid} on `);
    expect(shown).toMatch(/^ {4}pay \{"usd":12\}$/m);
    expect(shown).toMatch(/^ {4}ravi approve run-1 approval:run-1:tool:1:0$/m);
    expect(shown).toMatch(/^clerk +running +1 model call/m);

    const approved = await program("approve", "run");
    expect(approved).toMatchObject({ code: 0, stderr: "" });
    expect(approved.stdout).toContain(`process ${other.child.pid} on `);
    const { stdout } = await other.ended;
    expect(stdout).toContain('{"status":"completed","output":"I was told: paid"}');
    expect(await ravi("runs")).toBe(`no open runs in ${journal}; 1 not shown: --all`);
    expect(await ravi("runs", "--all")).toMatch(/run-1 +clerk@1 +completed/);
    expect(await ravi("runs", "--status", "failed")).toBe(`no failed runs in ${journal}; 1 not shown`);
  });

  test("is ended by cancel", async () => {
    const other = started(ASKING, ["start", journal]);
    await expect.poll(() => runs({ journal }), { timeout: 20_000 }).toMatchObject([{ waitingFor: [{}] }]);
    expect(await ravi("cancel", "run-1", "--reason", "too expensive")).toContain(
      `process ${other.child.pid}`,
    );
    expect((await other.ended).stdout).toContain('"status":"cancelled"');
    expect(await ravi("show", "run-1")).toMatch(/^status +cancelled.*too expensive$/m);
  });

  test("that was killed while a tool paid has no process, and says what to decide", async () => {
    const other = started(ASKING, ["hang", journal]);
    const underWay = async (): Promise<readonly string[]> => {
      const [known] = await runs({ journal });
      if (known === undefined || known.entries === 0) return [];
      return (await inspect("run-1", { journal })).openCalls.map(({ name }) => name);
    };
    await expect.poll(underWay, { timeout: 20_000 }).toEqual(["pay"]);
    other.child.kill("SIGKILL");
    await other.ended;

    expect(await ravi("runs")).toMatch(/^run-1 +clerk@1 +running .* no process has it; resume it$/m);
    const shown = await ravi("show", "run-1");
    expect(shown).toMatch(/^status +running$/m);
    expect(shown).toMatch(/^process +none; it goes on when it is resumed$/m);
    expect(shown).toMatch(/^ {2}clerk calls pay \(tool:1:0\), begun \d+ s ago$/m);
    await started(ASKING, ["resume", journal]).ended;
    const undecided = await ravi("show", "run-1");
    expect(undecided).toContain('for a decision\n    pay {"usd":12}\n');
    expect(undecided).toContain('decisions: { "run-1:tool:1:0": "retry" }');
    expect(undecided).toMatch(/^process +none; resume it with a decision$/m);

    // It is not made again, so it was not paid for twice: nobody knows whether it was paid for at all.
    await ravi("cancel", "run-1");
    await started(ASKING, ["resume", journal]).ended;
    expect(await ravi("show", "run-1")).toMatch(
      /^in doubt, because they were cut off:\n {2}run-1:tool:1:0$/m,
    );
  });
});

describe("a run that waits", () => {
  test("of one that was cancelled without a reason, none is said", () => {
    expect(cancelWords("", false)).toBe("cancelled: it ends when it is resumed");
  });

  test("that was cancelled and not resumed yet is listed and shown as such", async () => {
    const asking = await waiting();
    expect(await ravi("cancel", "run-1", "--reason", "too \u0007dear")).toContain("when it is next resumed");
    expect(await ravi("runs")).toMatch(
      /run-1 +clerk@1 +suspended .* ago +cancelled \(too dear\): it ends when it is resumed$/m,
    );
    const shown = await ravi("show", "run-1");
    expect(shown).toMatch(/^status +suspended, cancelled \(too dear\): it ends when it is resumed$/m);
    expect(shown).toMatch(/^process +none; it ends when it is resumed$/m);
    expect(await inspect("run-1", { journal })).toMatchObject({ cancelReason: "too \u0007dear" });
    expect(await resume("run-1", { journal, agents: asking })).toMatchObject({ status: "cancelled" });
    expect(await ravi("runs", "--all")).toMatch(/run-1 +clerk@1 +cancelled .* ago +CANCELLED: .*too dear/m);
  });

  test("is told why it was denied", async () => {
    const asking = await waiting();
    expect(await ravi("deny", "run-1", "--reason", "ask Bo first")).toContain("when the run is resumed");
    await expect(ravi("deny", "run-1")).rejects.toThrow(/waits for no approval/);
    const { output } = await resume("run-1", { agents: asking, journal });
    expect(output).toContain("ask Bo first");
  });

  test("is named by the beginning of its id, if only one begins so", async () => {
    await waiting("bill-1");
    await waiting("bill-2");
    await expect(ravi("approve", "bill")).rejects.toThrow(/2 begin so, such as bill-[12], bill-[12]/);
    await expect(ravi("approve", "other")).rejects.toThrow(/ravi runs --all lists them/);
    await expect(ravi("approve", "")).rejects.toThrow(/ravi runs --all lists them/);
    await expect(ravi("approve", "bill-2", "tool:9:9")).rejects.toThrow(
      /one of approval:bill-2:tool:1:0 \(pay \{"usd":12\}\), or/,
    );
    expect(await ravi("approve", "bill-2", "tool:1:0")).toContain("clerk of run bill-2 was answered");
    expect((await runs({ journal })).find(({ runId }) => runId === "bill-1")?.waitingFor).toHaveLength(1);
  });

  test("is answered once, if two people do it at the same time", async () => {
    const asking = await waiting();
    const [denied, approved] = await Promise.allSettled([
      ravi("deny", "run-1", "--reason", "too much"),
      ravi("approve", "run-1"),
    ]);
    expect(denied.status).toBe("fulfilled");
    expect(approved).toMatchObject({ reason: { message: expect.stringContaining("somebody else") } });
    const open = SqliteJournal.open(journal);
    onTestFinished(() => open.close());
    expect(open.items(RunId("run-1"), 0)).toHaveLength(1);
    expect((await resume("run-1", { agents: asking, journal })).output).toContain("too much");
  });

  test("is not taken for another one whose name is longer", async () => {
    await waiting("run-10");
    expect(await ravi("show", "run-1")).toMatch(/^run +run-10$/m);
    await expect(ravi("approve", "run-1")).rejects.toThrow(/the id of a run/);
    await expect(ravi("approve", "run-10", "ool:1:0")).rejects.toThrow(/one of approval:run-10:tool:1:0/);
    for (const command of ["cancel", "delete"])
      await expect(ravi(command, "run")).rejects.toThrow(/the whole id of a run/);
    expect(await ravi("approve", "run", "1:0")).toContain(
      'clerk of run run-10 was answered: pay {"usd":12}; ',
    );
  });

  test("shows all that it would do, without what could hide it", async () => {
    await waiting("run-1", { note: `${"x".repeat(5_000)}\u001b[2K\u202eend` });
    const shown = await ravi("show", "run-1");
    expect(shown).toContain("x".repeat(5_000));
    expect(shown).toMatch(/end"\}$/m);
    // oxlint-disable-next-line no-control-regex -- they are what must not be there
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  test("shows by its code what a terminal does not show", async () => {
    await waiting("run-1", { cmd: "rm  -rf\u00a0/\u200btmp\u061c\u2028\u{e0041}" });
    expect(await ravi("show", "run-1")).toContain(
      String.raw`pay {"cmd":"rm  -rf /\u200btmp\u061c\u2028\udb40\udc41"}`.replace(" /", "\u00a0/"),
    );
    const text = await ravi("show", "run-1", "--json");
    expect(text).not.toMatch(/[\u200b\u061c\u2028]/);
    expect(JSON.parse(text)).toMatchObject({
      waitingFor: [{ question: { arguments: expect.stringContaining("\u200b") } }],
    });
  });

  test.each([
    ["a b'c", String.raw`ravi approve 'a b'\''c' 'approval:a b'\''c:tool:1:0'`],
    ["-x", "ravi approve -- -x approval:-x:tool:1:0"],
    ["abc\u202e'", String.raw`ravi approve $'abc\U0000202e\'' $'approval:abc\U0000202e\':tool:1:0'`],
    ["$(id)", "ravi approve '$(id)' 'approval:$(id):tool:1:0'"],
  ])("shows commands for %j that a shell takes", async (runId, command) => {
    await waiting(runId);
    const shown = await ravi("show", "--", runId);
    expect(shown.split("\n")).toContain(`    ${command}`);
    expect(await ravi("approve", "--", runId)).not.toContain("\u202e");
  });

  test("shows commands for the journal that was named", async () => {
    await waiting();
    const shown = await performed(["show", "run-1", "--journal", `${journal}/.`]);
    expect(shown).toContain(`ravi approve --journal ${journal}/. run-1 approval:run-1:tool:1:0`);
    expect(shown).toContain(`ravi deny --journal ${journal}/. --reason "…" run-1 approval:run-1:tool:1:0`);
  });

  test("shows commands that work also for a journal whose name begins with a dash", async () => {
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(journal);
    const inside = await waiting("run-1", undefined, "-j");
    const shown = await performed(["show", "run-1", "--journal=-j"]);
    const [, command = ""] = /^ {4}ravi (approve .*)$/m.exec(shown) ?? [];
    expect(command).toBe("approve --journal=-j run-1 approval:run-1:tool:1:0");
    expect(await performed(command.split(" "))).toContain("was answered");
    expect(await resume("run-1", { journal: "-j", agents: inside })).toMatchObject({ status: "completed" });
    await expect(performed(["runs", "--journal", "-j"])).rejects.toThrow("--journal=-");
  });

  test("is approved also if its id is budget", async () => {
    const asking = await waiting("budget");
    expect(await ravi("show", "budget")).toContain("ravi approve budget approval:budget:tool:1:0");
    expect(await ravi("deny", "budget", "--reason", "ask Bo")).toContain("was answered");
    expect((await resume("budget", { agents: asking, journal })).output).toContain("ask Bo");
  });

  test("says so if its arguments are too long to be listed", async () => {
    await waiting("run-1", { note: "x".repeat(30_000) });
    expect(await ravi("show", "run-1")).toContain("pay with arguments that are too long to be listed");
  });

  test("is given JSON or a text", async () => {
    const asking: Agent = {
      id: clerk().id,
      async run(ctx) {
        const first = await ctx.waitFor("name");
        const second = await ctx.waitFor("data");
        return { status: "completed", output: JSON.stringify([first, second]), stopReason: "done" };
      },
    };
    const wait = async (name: string): Promise<void> => {
      const handle = start(asking, "go", { journal, runId: "run-1" });
      await expect.poll(() => runs({ journal })).toMatchObject([{ waitingFor: [{ name }] }]);
      await handle.suspend();
    };
    await wait("name");
    await expect(ravi("deliver", "run-1", "name", "Bo")).rejects.toThrow(
      /"Bo" is not JSON; send a text with --text/,
    );
    await expect(ravi("deliver", "run-1", "name")).rejects.toThrow(/either JSON or --text/);
    await expect(ravi("deliver", "run-1", '"Bo"')).rejects.toThrow(
      /after the wait, whose name ravi show prints$/,
    );
    await ravi("deliver", "run-1", "name", "--text", "Bo");
    const handle = resume("run-1", { agents: asking, journal });
    await expect.poll(() => runs({ journal })).toMatchObject([{ waitingFor: [{ name: "data" }] }]);
    await ravi("deliver", "run-1", "data", '{"n":1}');
    expect((await handle).output).toBe('["Bo",{"n":1}]');
  });

  test("is given one answer after the other, if two of its agents wait for the same name", async () => {
    const asker: Agent = {
      id: AgentId("asker"),
      run: async (ctx) => ({
        status: "completed",
        output: JSON.stringify(await ctx.waitFor("name")),
        stopReason: "done",
      }),
    };
    const lead: Agent = {
      id: AgentId("lead"),
      async run(ctx) {
        const hire = { kind: "hire", agent: asker, input: "" } as const;
        const output = (await ctx.batch([hire, hire]))
          .map((one) => ("result" in one ? one.result.output : one.status))
          .join();
        return { status: "completed", output, stopReason: "done" };
      },
    };
    // Its time stands still, so both begin to wait in the same moment.
    const moment = Date.now();
    const handle = start(lead, "go", { journal, runId: "run-1", clock: { now: () => moment } });
    await expect.poll(async () => (await runs({ journal }))[0]?.waitingFor ?? []).toHaveLength(2);
    await handle.suspend();
    expect(await ravi("deliver", "run-1", "name", "--text", "Bo")).toContain("asker/1 of run run-1");
    expect(await ravi("deliver", "run-1", "name", "--text", "Al")).toContain("asker/2 of run run-1");
    expect((await resume("run-1", { agents: lead, journal })).output).toBe('"Bo","Al"');
  });

  test("for more budget is given an amount, not an approval", async () => {
    const model = scriptedModel([{ text: "done" }]);
    const spender = agent({ name: "spender", model, onBudget: "ask" });
    const handle = start(spender, "go", {
      journal,
      runId: "run-1",
      budget: { tokens: 1, usd: null },
      prices: { scripted: { input: 1, output: 1 } },
    });
    // It is near its limit, so the vocabulary is loaded first.
    await expect
      .poll(() => runs({ journal }), { timeout: 20_000 })
      .toMatchObject([{ waitingFor: [{ kind: "approval" }] }]);
    await expect(ravi("approve", "run-1")).rejects.toThrow(/with ravi deliver, for example '\{"cost": 5\}'/);
    expect(await ravi("show", "run-1")).toMatch(/ravi deliver run-1 approval:budget:run-1 '<json>'$/m);
    await expect(ravi("deny", "run-1", "--reason", "no")).rejects.toThrow(/without --reason/);
    await ravi("deny", "run-1");
    expect(await handle.result).toMatchObject({ status: "partial", stopReason: "budget" });
  });
});

describe("the log of a run", () => {
  const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ /gm;

  /** Without the times. */
  const log = async (...args: readonly string[]): Promise<string> =>
    (await ravi("log", ...args)).replaceAll(TIME, "");

  test("has what its agents have said and done, in order", async () => {
    const price = tool({
      name: "price",
      description: "",
      input: z.object({ vendor: z.string() }),
      execute: ({ vendor }) => {
        if (vendor === "Nobody") throw new Error("no such vendor");
        return "$4\na piece";
      },
    });
    const call = (vendor: string) => ({ name: "price", arguments: { vendor } });
    const researcher = agent({
      name: "researcher",
      model: scriptedModel([{ toolCalls: [call("Acme"), call("Nobody")] }, { text: "$4." }]),
      tools: [price],
    });
    const handoff = { name: "handoff_researcher", arguments: { task: "Ask Acme" } };
    const lead = team({
      name: "lead",
      model: scriptedModel([{ text: "I will ask.", toolCalls: [handoff] }, { text: "It is \u001b[31m$4." }]),
      members: [researcher],
    });
    await run(lead, "Buy it", { journal, runId: "run-1", prices: { scripted: { input: 1, output: 1 } } });
    const lines = (await log("run-1")).replaceAll(/used \d.*/g, "used").split("\n");
    expect(lines).toEqual([
      "lead started: Buy it",
      "lead says: I will ask.",
      "lead used",
      'lead calls handoff_researcher {"task":"Ask Acme"}',
      "lead hires researcher: Ask Acme",
      "researcher/1 started: Ask Acme",
      "researcher/1 used",
      'researcher/1 calls price {"vendor":"Acme"}',
      'researcher/1 calls price {"vendor":"Nobody"}',
      "researcher/1 gets from price: $4",
      "    a piece",
      "researcher/1 gets from price: error: no such vendor",
      "researcher/1 says: $4.",
      "researcher/1 used",
      "researcher/1 completed: $4.",
      "lead says: It is  [31m$4.",
      "lead used",
      "lead completed: It is  [31m$4.",
    ]);
    const events = (await ravi("log", "run-1", "--json"))
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    expect(events).toEqual(await recordedEvents("run-1", { journal }));
  });

  test("tells once why a run has failed, though the call and the agent have failed with the same", async () => {
    const model = scriptedModel([new ProviderError({ kind: "AUTH", message: "wrong key", status: 401 })]);
    await run(agent({ name: "clerk", model }), "Hi", { journal, runId: "run-1" });
    const lines = (await log("run-1")).split("\n").filter((line) => line.includes("wrong key"));
    expect(lines).toEqual(["clerk PROVIDER_ERROR: wrong key"]);
    expect((await ravi("log", "run-1", "--json")).match(/wrong key/g)).toHaveLength(2);
  });

  test("shortens long texts, and has them in full as JSON", async () => {
    await run(speaker("x".repeat(5_000)), "go", { journal, runId: "run-1" });
    expect(await log("run-1")).toMatch(/says: x{1994}… \(3,006 more characters: --json\)$/m);
    expect(await ravi("log", "run-1", "--json")).toContain("x".repeat(5_000));
  });

  test("cuts no emoji in two", async () => {
    await run(speaker("😀".repeat(2_500)), "😀".repeat(400), { journal, runId: "run-1" });
    expect((await log("run-1")).isWellFormed()).toBe(true);
    expect(await log("run-1")).toMatch(/says: (?:😀){997}… \(3,006 more characters: --json\)$/m);
    const shown = await ravi("show", "run-1");
    expect(shown).toMatch(/(?:😀){149}…$/m);
    expect(shown.isWellFormed()).toBe(true);
  });

  test("names the pictures and files that a tool gives", async () => {
    const look = tool({
      name: "look",
      description: "",
      input: z.object({}),
      execute: () =>
        toolContent([
          { type: "image", url: "data:image/png;base64,iVBORw0KGgo=" },
          { type: "text", text: "Two pages." },
          { type: "file", url: "https://files.test/1", mediaType: "application/pdf", name: "offer.pdf" },
          { type: "file", url: "https://files.test/2", mediaType: "text/csv" },
        ]),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, "seen"]);
    await run(agent({ name: "looker", model, tools: [look] }), "go", { journal, runId: "run-1" });
    const [, after = ""] = (await log("run-1")).split("gets from look: ");
    expect(after.split("\n", 4)).toEqual([
      "(an image)",
      "    Two pages.",
      "    (a file: offer.pdf)",
      "    (a file: text/csv)",
    ]);
  });

  test("is followed to the end of the run, and has nothing twice", async () => {
    const asking = await waiting();
    const { child, ended } = started(PROGRAM, ["log", "run-1", "--follow"]);
    const asked = Promise.withResolvers<void>();
    child.stdout?.on("data", (text) => String(text).includes("asks for approval: pay") && asked.resolve());
    await asked.promise;
    await ravi("approve", "run-1");
    await resume("run-1", { journal, agents: asking });
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout.trimEnd()).toBe(await ravi("log", "run-1"));
    expect(stdout).toMatch(/Z clerk gets from pay: paid\n.*Z clerk says: told: paid\n/);
  });

  test("ends with an error if the run is deleted while it is followed", async () => {
    await waiting();
    const { child, ended } = started(PROGRAM, ["log", "run-1", "-f"]);
    const asked = Promise.withResolvers<void>();
    child.stdout?.on("data", (text) => String(text).includes("asks for approval: pay") && asked.resolve());
    await asked.promise;
    await ravi("delete", "run-1", "--force");
    expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining("it was deleted") });
  });

  test("is refused for a run that is not there", async () => {
    await waiting();
    await expect(ravi("log", "nothing")).rejects.toThrow(/run is "nothing"/);
    await expect(recordedEvents("run-1", { journal: join(journal, "none") })).rejects.toThrow(
      /does not exist/,
    );
  });
});

describe("runs that have ended", () => {
  test("show their result, and what was spent of which limit", async () => {
    await run(speaker("All \u0007is\nwell."), "How is it?", {
      journal,
      runId: "run-1",
      tenantId: "acme",
      budget: { usd: 2, tokens: 20_000 },
      prices: { scripted: { input: 100, output: 100 } },
    });
    const shown = await ravi("show", "run-1");
    expect(shown).toMatch(/^tenant +acme$/m);
    expect(shown).toMatch(/^status +completed$/m);
    expect(shown).toMatch(/^output +All is well\.$/m);
    expect(shown).toMatch(/^spent +\$0\.\d+ of \$2, \d+ of 20,000 tokens$/m);
    expect(shown).not.toContain("process");
    const report = JSON.parse(await ravi("show", "run-1", "--json")) as { result: object; tree: object };
    expect(report).toMatchObject({
      runId: "run-1",
      result: { status: "completed" },
      tree: { agentId: "speaker" },
    });
    expect(JSON.parse(await ravi("runs", "--json", "--all"))).toMatchObject([{ runId: "run-1" }]);
    await expect(ravi("cancel", "run-1")).rejects.toThrow(/a run that has not ended; it is completed/);
  });

  test.each([
    [0, "$0"],
    [0.000_000_1, "$0.0000001"],
    [0.123_456, "$0.1235"],
    [12.3, "$12.30"],
    [98_765.432_1, "$98765.43"],
  ])("show that they have spent %d as %s", async (usd, text) => {
    const model = scriptedModel([{ text: "ok", usage: { inputTokens: 1, outputTokens: 0 } }]);
    await run(agent({ name: "spender", model }), "go", {
      journal,
      runId: "run-1",
      budget: null,
      prices: { scripted: { input: usd * 1e6, output: 0 } },
    });
    expect(await ravi("show", "run-1")).toContain(`spent       ${text}, 1 tokens`);
  });

  test("are listed with the reason why they failed, and not with one if they did not", async () => {
    const refusing = scriptedModel(() => {
      throw new ProviderError("the model\nis on strike", { kind: "BILLING" });
    });
    await run(agent({ name: "striker", model: refusing }), "Go.", { journal, runId: "run-1" }).catch(
      () => {},
    );
    await run(speaker("Done."), "Go.", { journal, runId: "run-2" });
    const listed = await ravi("runs", "--all");
    expect(listed).toMatch(/^run-1 +striker@1 +failed .* ago +[A-Z_]+: .*the model is on strike/m);
    expect(listed).toMatch(/^run-2 +speaker@1 +completed .* ago$/m);
    const [failed] = JSON.parse(await ravi("runs", "--status", "failed", "--json")) as { error: object }[];
    expect(failed?.error).toMatchObject({ message: expect.stringContaining("on strike") });
  });

  test("are listed in columns, also if their names are wide on a terminal", async () => {
    for (const runId of ["研究", "plain"]) await run(speaker("Done."), "Go.", { journal, runId });
    const listed = await ravi("runs", "--all");
    expect(listed).toMatch(/^研究 {3}speaker@1 {2}completed/m);
    expect(listed).toMatch(/^plain {2}speaker@1 {2}completed/m);
  });

  test("show which calls were given up", async () => {
    const deaf = tool({
      name: "deaf",
      description: "",
      input: z.object({}),
      execute: () => new Promise<string>(() => {}),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "deaf" }] }]);
    const handle = start(agent({ name: "caller", model, tools: [deaf] }), "go", { journal, runId: "run-1" });
    const openCalls = async (): Promise<number> => (await inspect("run-1", { journal })).openCalls.length;
    await expect.poll(() => runs({ journal })).toMatchObject([{ runId: "run-1" }]);
    await expect.poll(openCalls).toBe(1);
    expect(await ravi("show", "run-1")).toMatch(/^under way:\n {2}caller calls deaf \(tool:1:0\), for /m);
    handle.cancel("enough");
    await handle.result;
    expect(await ravi("show", "run-1")).toMatch(
      /^given up:\n {2}caller calls deaf \(tool:1:0\), begun .* ago$/m,
    );
  });

  test("show which calls wait for money", async () => {
    const acme = new ExecutionTracker({ maxTokens: 10_000 }, { scope: "acme" });
    const other = acme.reserve({ tokens: 9_999 });
    const handle = start(
      agent({ name: "speaker", model: scriptedModel([{ text: "Done." }]), budget: acme }),
      "go",
      { journal, runId: "run-1" },
    );
    const openCalls = async (): Promise<object> => (await inspect("run-1", { journal })).openCalls;
    await expect.poll(() => runs({ journal })).toMatchObject([{ runId: "run-1" }]);
    await expect.poll(openCalls).toMatchObject([{ kind: "llm", status: "waiting" }]);
    expect(await ravi("show", "run-1")).toMatch(/^under way:\n {2}speaker waits to ask .*#1\), for /m);
    other.cancel();
    expect(await handle.result).toMatchObject({ status: "completed" });
    expect(await openCalls()).toEqual([]);
  });

  test("are deleted one by one or by age, open ones only by force", async () => {
    for (const runId of ["a", "b"]) await run(speaker("ok"), "go", { journal, runId });
    await waiting("open");
    expect(await ravi("delete", "a")).toBe("a is deleted");
    await expect(ravi("delete", "open")).rejects.toThrow(/it is suspended, and after ravi delete --force/);
    expect(await ravi("prune", "--older-than", "1d")).toBe("0 runs deleted");
    expect(await ravi("prune", "--older-than", "0s")).toBe("1 run deleted");
    expect(await ravi("delete", "open", "--force")).toBe("open is deleted");
    expect(await runs({ journal })).toEqual([]);
  });

  test("are not deleted while a process has them", async () => {
    const handle = start(clerk(), "go", { journal, runId: "run-1" });
    await expect.poll(() => runs({ journal })).toMatchObject([{ waitingFor: [{}] }]);
    await expect(ravi("delete", "run-1", "--force")).rejects.toThrow(/a run that no process has/);
    handle.cancel("enough");
    await handle.result;
  });

  test("are answered, cancelled and deleted also if their record is damaged", async () => {
    await run(speaker("ok"), "go", { journal, runId: "over" });
    await waiting("open");
    const database = new DatabaseSync(join(journal, "ravi.db"));
    database.exec("UPDATE log SET crc = crc + 1");
    database.close();
    await expect(ravi("show", "over")).rejects.toThrow(/is damaged at/);
    expect(await ravi("approve", "open")).toContain("was answered");
    expect(await ravi("cancel", "open")).toContain("open is cancelled");
    expect(await ravi("delete", "over")).toBe("over is deleted");
    expect(await ravi("delete", "open", "--force")).toBe("open is deleted");
    expect(await runs({ journal })).toEqual([]);
  });

  test("can be looked at where nothing can be written", async () => {
    const root = await mkdtemp(join(tmpdir(), "ravi-cli-"));
    onTestFinished(() => rm(root, { recursive: true, force: true }));
    const sealed = join(root, "sealed");
    await run(speaker("ok"), "go", { journal: sealed, runId: "run-1" });
    await chmod(root, 0o755);
    await chmod(join(sealed, "ravi.db"), 0o444);
    await chmod(sealed, 0o555);
    // Root may write everywhere, so it acts as somebody else meanwhile.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) process.seteuid?.(65_534);
    onTestFinished(() => (isRoot ? process.seteuid?.(0) : undefined));
    const on = (...args: readonly string[]): Promise<string> => performed(args, { RAVI_JOURNAL: sealed });
    expect(await on("runs", "--all")).toMatch(/run-1 .* completed/);
    expect(await on("show", "run-1")).toMatch(/output +ok/);
    expect(await on("log", "run-1")).toContain("says: ok");
    expect(await inspect("run-1", { journal: sealed })).toMatchObject({ status: "completed" });
    await expect(on("prune", "--older-than", "0s")).rejects.toThrow(/can be created and written/);
    expect(await readdir(sealed)).toEqual(["ravi.db"]);
  });

  test("of another program are not copied by backup", async () => {
    const other = new DatabaseSync(join(journal, "ravi.db"));
    other.exec("CREATE TABLE songs (name TEXT)");
    other.close();
    const file = join(journal, "copy.db");
    await expect(ravi("backup", file)).rejects.toThrow(/a Ravi journal; this is another program's SQLite/);
    expect(await readdir(journal)).toEqual(["ravi.db"]);
  });

  test("are in a backup, which only its owner may read", async () => {
    await run(speaker("ok"), "go", { journal, runId: "run-1" });
    const copy = await mkdtemp(join(tmpdir(), "ravi-cli-"));
    onTestFinished(() => rm(copy, { recursive: true, force: true }));
    const file = join(copy, "ravi.db");
    const done = await program("backup", file);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await runs({ journal: copy })).toMatchObject([{ runId: "run-1", status: "completed" }]);
    await expect(ravi("backup", file)).rejects.toThrow(/a file that does not exist yet; nothing was written/);
  });

  test("are not copied to where no file can be, which names the file", async () => {
    await run(speaker("ok"), "go", { journal, runId: "run-1" });
    for (const file of [join(journal, "no", "copy.db"), join(journal, "ravi.db", "copy.db")])
      await expect(ravi("backup", file)).rejects.toThrow(
        `file is ${JSON.stringify(file)}; expected a file that can be written (`,
      );
  });

  test("are not copied to where a link leads, and nothing is left of a copy that fails", async () => {
    await run(speaker("ok"), "go", { journal, runId: "run-1" });
    const [link, file] = [join(journal, "link.db"), join(journal, "copy.db")];
    await symlink(file, link);
    await expect(ravi("backup", link)).rejects.toThrow(/a file that does not exist yet; nothing was written/);
    await writeFile(join(journal, "ravi.db"), "something else");
    await expect(ravi("backup", file)).rejects.toThrow(
      `${join(journal, "ravi.db")} could not be copied to ${file}: file is not a database; nothing was written`,
    );
    expect((await readdir(journal)).filter((name) => name.includes("copy"))).toEqual([]);
  });
});

describe("the command line", () => {
  test("is explained, and has the version of the package", async () => {
    const help = await ravi("--help");
    for (const name of ["runs", "show", "approve", "deny", "deliver", "cancel", "delete", "prune", "backup"])
      expect(help).toContain(`ravi ${name}`);
    expect(help.split("\n").every((line) => line.length <= 125)).toBe(true);
    expect(await ravi("--version")).toMatch(/^\d+\.\d+\.\d+/);
    expect(await ravi("show", "-h")).toBe(help);
  });

  test.each([
    [[], /which command/],
    [["look"], /there is no command "look"/],
    [["show"], /expected ravi show <run>/],
    [["show", "a", "b"], /expected ravi show <run>/],
    [["runs", "--force"], /ravi runs has no option --force; expected ravi runs/],
    [["runs", "--colour"], /--colour/],
    [["runs", "--status", "done"], /--status is "done"; expected pending, running/],
    [["runs", "--all", "--status", "failed"], /exclude each other/],
    [["prune"], /needs --older-than/],
    [["page", "--port", "http"], /--port is "http"; expected a number up to 65535/],
    [["page", "--port", "99999"], /--port is "99999"; expected a number up to 65535/],
    [["page", "run-1"], /expected ravi page \[--port <port>\]/],
    [["prune", "--older-than", "1 week"], /--older-than is "1 week"; expected a time such as 90s/],
  ])("%j is refused", async (args, message) => {
    await run(speaker("ok"), "go", { journal });
    await expect(performed(args, { RAVI_JOURNAL: journal })).rejects.toThrow(message);
  });

  test("ends with 2 if it is wrong and with 1 if it is refused, in one line", async () => {
    expect(await program("look")).toEqual({
      code: 2,
      stdout: "",
      stderr: 'ravi: there is no command "look"\nravi --help lists the commands.\n',
    });
    const missing = join(journal, "nothing");
    const refused = await program("runs", "--journal", missing);
    expect(refused).toEqual({
      code: 1,
      stdout: "",
      stderr: `ravi: journal is ${JSON.stringify(missing)}; expected a folder with a ravi.db\n`,
    });
    // Looking makes no journal.
    expect(await readdir(journal)).toEqual([]);
  });

  test("leaves an empty ravi.db as it is, and says that it is no journal", async () => {
    const file = join(journal, "ravi.db");
    await writeFile(file, "");
    const empty = "expected a folder with the ravi.db of a journal; this one is empty";
    for (const command of [["runs"], ["show", "run-1"], ["cancel", "run-1"], ["prune", "--older-than", "1d"]])
      await expect(ravi(...command)).rejects.toThrow(empty);
    expect(await runs({ journal })).toEqual([]);
    await expect(inspect("run-1", { journal })).rejects.toThrow("this one has an empty ravi.db");
    expect(await readdir(journal)).toEqual(["ravi.db"]);
    expect((await stat(file)).size).toBe(0);
    // A run makes a journal of it.
    expect(await run(speaker("ok"), "go", { journal, runId: "run-1" })).toMatchObject({
      status: "completed",
    });
    expect(await runs({ journal })).toMatchObject([{ runId: "run-1" }]);
  });

  test("ends quietly if nobody reads on", async () => {
    for (const runId of ["a", "b"]) await run(speaker("ok"), "go", { journal, runId });
    const { child, ended } = started(PROGRAM, ["runs", "--all", "--json"]);
    child.stdout?.destroy();
    expect(await ended).toMatchObject({ stderr: "" });
  });

  test("says in one line that its output could not be written, as on a full disk", async () => {
    await run(speaker("ok"), "go", { journal, runId: "a" });
    // A file that was opened for reading takes no output.
    const closed = await openFile(join(journal, "ravi.db"), "r");
    const env = { ...process.env, RAVI_JOURNAL: journal };
    const args = ["--conditions=@ravi/source", PROGRAM, "runs", "--all"];
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", closed.fd, "pipe"] });
    let stderr = "";
    child.stderr?.on("data", (text) => (stderr += String(text)));
    const code = await new Promise((resolve) => child.on("close", resolve));
    await closed.close();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^ravi: E[A-Z]+: .*write\n$/),
    });
  });
});

test.each([9e15, -9e15, 1.5e300])(
  "a run whose entries have the time %d, which is no date, is shown",
  async (now) => {
    const clock = virtualClock({ now });
    await run(speaker("Hello."), "Speak.", { journal, runId: "odd", clock });
    expect(await ravi("runs", "--all")).toMatch(/^odd +speaker@1 +completed/m);
    expect(await ravi("show", "odd")).toContain(`started     ${now}, `);
    expect(await ravi("log", "odd")).toContain(`\n${now} speaker says: Hello.\n`);
  },
);

test("so is one that waits until a time that is no date", async () => {
  const sleeper: Agent = {
    id: AgentId("sleeper"),
    run: async (ctx) => {
      await ctx.sleepUntil(9e15);
      return { status: "completed", output: "", stopReason: "done" };
    },
  };
  const clock = virtualClock();
  const handle = start(sleeper, "", { journal, runId: "odd", clock });
  await expect.poll(() => runs({ journal })).toMatchObject([{ waitingFor: [{ until: 9e15 }] }]);
  await handle.suspend();
  expect(await ravi("show", "odd")).toContain("for a time, until 9000000000000000");
});

test("a run whose status is damaged is listed with all runs", async () => {
  for (const runId of ["a", "b"]) await run(speaker("ok"), "go", { journal, runId });
  const database = new DatabaseSync(join(journal, "ravi.db"));
  database.exec("UPDATE runs SET status = 'complefed' WHERE id = 'a'");
  database.close();
  const all = await ravi("runs", "--all");
  expect(all).toMatch(/^a +speaker@1 +complefed /m);
  expect(all).not.toContain("not shown");
  expect(JSON.parse(await ravi("runs", "--all", "--json"))).toHaveLength(2);
});

test.each([
  [{ tool: "pay", callId: "c", arguments: '{"usd":12}' }, 'pay {"usd":12}'],
  [{ tool: "pay", callId: "c" }, "pay with arguments that are too long to be listed"],
  // An agent has called it on its own.
  [{ tool: "pay" }, "pay"],
])("of a call in doubt that is listed as %j, %j is shown", (question, shown) => {
  expect(questionOf({ kind: "decision", question })).toBe(shown);
});
