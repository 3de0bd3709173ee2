import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type AuditEntry, defineTool, type Permissions, RunId, textOf } from "@ravi/kernel";
import { Reflexion, ReAct, StrategyAgent } from "@ravi/architectures";
import { FileHistory, KeywordMemory } from "@ravi/context";
import { EventRecorder } from "@ravi/hooks";
import { FileAuditLog, rulePermissions } from "@ravi/middleware";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { type ScriptedModel, scriptedModel, virtualClock } from "@ravi/testing";
import * as z from "zod";
import { cutJournal } from "../src/cut-journal.ts";

// The four services of J11 as they are, together, around a strategy.

const RUN = "r1";
let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "ravi-services-"))));
afterEach(() => rm(folder, { recursive: true }));

const tool = (name: string) =>
  defineTool({ name, description: "", input: z.object({}), idempotent: true, execute: () => `${name} done` });

async function audited(path: string): Promise<AuditEntry[]> {
  const lines = (await readFile(path, "utf8")).trim().split("\n");
  return lines.map((line) => (JSON.parse(line) as { entry: AuditEntry }).entry);
}

test("J11: what is denied is not done, and all that is done can be proved, traced and remembered", async () => {
  const path = join(folder, "audit.jsonl");
  const auditLog = await FileAuditLog.open(path);
  const telemetry = new EventRecorder();
  const model = scriptedModel([
    { toolCalls: [{ name: "read" }, { name: "erase" }] },
    "I could not erase it.",
  ]);
  const agent = new StrategyAgent({
    name: "clerk",
    model,
    tools: [tool("read"), tool("erase")],
    auditLog,
    telemetry,
    permissions: rulePermissions({
      rules: [{ effect: "allow" }, { effect: "deny", target: "erase", reason: "nothing is erased here" }],
    }),
    architecture: new ReAct(),
  });
  const result = await new Runtime().run(agent, "tidy up", { userId: "ann" }).result;
  expect(result.output).toBe("I could not erase it.");
  const shown = (await audited(path)).map(({ action, target, outcome }) => `${action} ${target} ${outcome}`);
  expect(shown.toSorted()).toEqual(
    [
      "run.begin react ok",
      "llm.begin scripted/scripted ok",
      "llm.end scripted/scripted ok",
      "tool erase denied",
      "tool.begin read ok",
      "tool.end read ok",
      "llm.begin scripted/scripted ok",
      "llm.end scripted/scripted ok",
      "run.end react ok",
    ].toSorted(),
  );
  expect(await auditLog.verify()).toMatchObject({ ok: true, entries: 9 });
  expect(telemetry.open).toEqual([]);
  expect(telemetry.events.filter(({ kind }) => kind === "span").map(({ name }) => name)).toEqual([
    "llm",
    "tool",
    "llm",
    "run",
  ]);
});

test("J11: a resumed run writes down and traces only what it does, and not what was done before", async () => {
  const build = async (model: ScriptedModel, path: string, telemetry: EventRecorder) =>
    new StrategyAgent({
      name: "clerk",
      model,
      tools: [tool("read")],
      telemetry,
      auditLog: await FileAuditLog.open(path),
      architecture: new ReAct(),
    });
  const script = (): ScriptedModel =>
    scriptedModel(({ messages }) =>
      messages.some(({ role }) => role === "tool") ? "done" : { toolCalls: [{ name: "read" }] },
    );
  const journal = new MemoryJournal();
  const first = await build(script(), join(folder, "first.jsonl"), new EventRecorder());
  await new Runtime({ journal }).run(first, "go", { runId: RUN, sessionId: "s" }).result;
  const records = journal.load(RunId(RUN));
  const toolEnd = records.findIndex(({ key, phase }) => key.startsWith("tool:") && phase === "end") + 1;

  const path = join(folder, "second.jsonl");
  const telemetry = new EventRecorder();
  const agent = await build(script(), path, telemetry);
  const crashed = cutJournal(RUN, records.slice(0, toolEnd));
  expect((await new Runtime({ journal: crashed, agents: [agent] }).resume(RUN).result).output).toBe("done");
  expect((await audited(path)).map(({ action }) => action)).toEqual([
    "run.begin",
    "llm.begin",
    "llm.end",
    "run.end",
  ]);
  expect(telemetry.events.filter(({ kind }) => kind === "span").map(({ name }) => name)).toEqual([
    "llm",
    "run",
  ]);
});

test("J11: a resumed run does not depend on what its policy would say today of what was done before", async () => {
  const build = (permissions: Permissions): StrategyAgent => {
    const model = scriptedModel(({ messages }) => {
      const found = messages.filter(({ role }) => role === "tool").map((message) => textOf(message));
      if (messages.some(({ content }) => content === "part")) return "a part";
      if (found.length === 0)
        return { toolCalls: [{ name: "read" }, { name: "helper", arguments: { task: "part" } }] };
      return `from ${found.join(" and ")}`;
    });
    const helper = new StrategyAgent({ name: "helper", model, architecture: new ReAct() });
    const tools = [tool("read"), helper.asDelegate()];
    return new StrategyAgent({ name: "clerk", model, tools, permissions, architecture: new ReAct() });
  };
  const asked: string[] = [];
  const allow: Permissions = {
    isNoop: false,
    check: ({ action, target }) => {
      asked.push(`${action} ${target}`);
      return { allow: true };
    },
  };
  const journal = new MemoryJournal();
  const whole = await new Runtime({ journal }).run(build(allow), "go", { runId: RUN, sessionId: "s" }).result;
  expect(whole.output).toBe("from read done and a part");
  expect(asked.toSorted()).toEqual([
    "hire helper",
    "llm scripted/scripted",
    "llm scripted/scripted",
    "tool read",
  ]);
  const records = journal.load(RunId(RUN));
  for (let count = 1; count < records.length; count++) {
    const before = records.slice(0, count);
    const did = (start: string): boolean =>
      before.some(({ key, phase }) => key.startsWith(start) && phase !== "begin");
    // A policy that counts: what was done before the crash is not allowed again.
    const once: Permissions = {
      isNoop: false,
      check: ({ action }) =>
        (action === "tool" && did("tool:")) || (action === "hire" && did("record:permission:hire:helper"))
          ? { allow: false, reason: "once is enough" }
          : { allow: true },
    };
    const agent = build(once);
    const runtime = new Runtime({ journal: cutJournal(RUN, before), agents: [agent] });
    expect({ count, output: (await runtime.resume(RUN).result).output }).toEqual({
      count,
      output: whole.output,
    });
  }
});

const ENDS = {
  cancelled: { status: "cancelled", error: { reason: "enough" } },
  closed: { status: "suspended" },
  late: { status: "partial", stopReason: "deadline" },
} as const;

test.each(
  ["llm", "tool", "hire"].flatMap((action) =>
    (["cancelled", "closed", "late"] as const).map((end) => [action, end] as const),
  ),
)("J11: a policy that never answers about %s holds up no run that is %s", async (action, end) => {
  const clock = virtualClock();
  const asked = Promise.withResolvers<void>();
  const permissions: Permissions = {
    isNoop: false,
    check(request) {
      if (request.action !== action) return { allow: true };
      asked.resolve();
      return new Promise(() => {});
    },
  };
  const helper = new StrategyAgent({ name: "helper", model: scriptedModel([]), architecture: new ReAct() });
  const agent = new StrategyAgent({
    name: "clerk",
    model: scriptedModel(
      action === "hire"
        ? [{ toolCalls: [{ name: "helper", arguments: { task: "part" } }] }]
        : [{ toolCalls: [{ name: "read" }] }],
    ),
    tools: [tool("read"), helper.asDelegate()],
    permissions,
    architecture: new ReAct(),
  });
  const runtime = new Runtime({ journal: new MemoryJournal({ clock }), clock });
  const executionBudget = end === "late" ? { deadlineS: 5 } : {};
  const handle = runtime.run(agent, "go", { executionBudget });
  await asked.promise;
  if (end === "cancelled") handle.cancel("enough");
  if (end === "closed") void runtime.close();
  await clock.advance(10_000);
  expect(await handle.result).toMatchObject(ENDS[end]);
});

test("J5, J11: lessons outlive the process on the disk, for the user who taught them and for nobody else", async () => {
  const ask = async (userId: string | undefined): Promise<string> => {
    const model = scriptedModel(({ messages }) => {
      const text = JSON.stringify(messages.at(-1)?.content);
      if (text.includes("How well")) return text.includes("metric") ? '{"score": 1}' : '{"score": 0.1}';
      if (text.includes("differently")) return "Convert the distance to metric units.";
      return text.includes("- Convert") ? "in metric: 5 km" : "3.1 miles";
    });
    // A process of its own: what it knows it has read from the disk.
    const memory = new KeywordMemory({ history: await FileHistory.open(folder) });
    const agent = new StrategyAgent({ name: "guide", model, memory, architecture: new Reflexion() });
    const { output } = await new Runtime().run(agent, "What is the distance?", { userId }).result;
    expect(output).toBe("in metric: 5 km");
    return String(model.calls.length);
  };
  // The first time it has to learn (try, score, lesson, try, score); the second time it knows.
  expect(await ask("ann")).toBe("5");
  expect(await ask("ann")).toBe("2");
  expect(await ask("bob")).toBe("5");
  expect(await ask(undefined)).toBe("5");
});
