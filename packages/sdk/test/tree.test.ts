import { inspect } from "node:util";
import {
  type AgentAccount,
  AgentId,
  ExecId,
  HookEvent,
  type HookPayloads,
  Priority,
  RunId,
  SessionId,
} from "@ravi/kernel";
import { HookManager } from "@ravi/hooks";
import { describe, expect, test } from "vitest";
import { CallLog } from "../src/tree/call-log.ts";
import { runTree } from "../src/tree/run-tree.ts";

const runId = RunId("run");
const account = (name: string, parent: string | null, rest: Partial<AgentAccount> = {}): AgentAccount => ({
  execId: parent === null ? ExecId(runId) : ExecId(runId, `hire:${name}#1`),
  agentId: name as AgentId,
  parent: parent as AgentId | null,
  priority: Priority.NORMAL,
  status: "completed",
  usage: { inputTokens: 1_000, outputTokens: 200 },
  costUsd: 0.01,
  modelCalls: 1,
  toolCalls: 0,
  retries: 0,
  wasteUsd: 0,
  ...rest,
});
const lead = account("lead", null, { modelCalls: 3, costUsd: 0.2 });
const accounts = [
  lead,
  account("researcher/1", "lead", { toolCalls: 2 }),
  account("helper/1", "researcher/1", {
    status: "cancelled",
    retries: 2,
    wasteUsd: 0.00012,
    costUsd: 0.00012,
  }),
  account("researcher/2", "lead", { status: "partial", costUsd: 0 }),
] as const;

const llmEnd = (key: string): HookPayloads["llm_end"] => ({
  agentName: "lead",
  agentId: AgentId("lead"),
  runId,
  execId: ExecId(runId),
  sessionId: SessionId("s"),
  at: 0,
  key,
  provider: "openai",
  model: "small",
  status: "ok",
  usage: { inputTokens: 1, outputTokens: 1 },
  costUsd: 0.001,
  durationMs: 5,
});

describe("a tree of who spent what", () => {
  const tree = runTree(accounts, new CallLog());

  test("prints as text", () => {
    expect(String(tree)).toBe(
      [
        "lead             completed  3 model calls  0 tool calls  1,200 tokens   $0.2000",
        "├─ researcher/1  completed   1 model call  2 tool calls  1,200 tokens   $0.0100",
        "│  └─ helper/1   cancelled   1 model call  0 tool calls  1,200 tokens  $0.00012  2 retried, $0.00012 wasted",
        "└─ researcher/2  partial     1 model call  0 tool calls  1,200 tokens        $0",
      ].join("\n"),
    );
    expect(inspect(tree)).toBe(String(tree));
  });

  test("says of an agent that was cut off by what and whose, with the names of the sdk's options", () => {
    const stoppedBy = {
      dimension: "turns",
      used: 5,
      limit: 5,
      scope: "lead",
      hint: "raise maxTurns",
    } as const;
    const cut = runTree(
      [
        account("lead", null),
        account("slow", "lead", { status: "partial", stopReason: "deadline" }),
        account("dear", "lead", { status: "partial", stopReason: "budget", stoppedBy }),
      ],
      new CallLog(),
    );
    expect(String(cut)).toMatch(/^├─ slow .*\$0\.0100 {2}deadline$/m);
    expect(String(cut)).toMatch(/^└─ dear .*\$0\.0100 {2}budget: turns of lead$/m);
    expect(cut.toMermaid()).toMatch(/partial #40;budget#58; turns of lead#41;/);
    expect(cut.agents().at(-1)?.stoppedBy?.hint).toBe("raise budget.turns");
  });

  test("prints names that are wide on a terminal in columns too", () => {
    const wide = runTree([account("lead", null), account("研究员🙂", "lead")], new CallLog());
    const [first = "", second = ""] = String(wide).split("\n");
    // Four characters, one of which is two units long, in eight columns.
    expect(first.indexOf("completed") - second.indexOf("completed")).toBe(3);
  });

  test("prints as Mermaid, where a name is never markup", () => {
    expect(tree.toMermaid().split("\n").slice(0, 3)).toEqual([
      "flowchart TD",
      '  a0["lead<br/>completed<br/>1,200 tokens<br/>$0.2000"]',
      '  a1["researcher/1<br/>completed<br/>1,200 tokens<br/>$0.0100"]',
    ]);
    expect(tree.toMermaid()).toContain("  a0 --> a1");
    const hostile = runTree([account('"]; click a0 "javascript:x" <b>`', null)], new CallLog()).toMermaid();
    const label = /^ {2}a0\["(.*)"\]$/.exec(hostile.split("\n")[1] ?? "")?.[1]?.replaceAll("<br/>", "");
    expect(label).toMatch(/^[^"<>[\]:`]+$/);
    expect(hostile.split("\n")).toHaveLength(2);
  });

  test("is JSON, with sums over all whom somebody hired", () => {
    const json = JSON.parse(JSON.stringify(tree));
    expect(json).toMatchObject({
      agentId: "lead",
      children: [{ agentId: "researcher/1", children: [{ agentId: "helper/1" }] }, {}],
    });
    expect(json.total).toEqual({ usage: { inputTokens: 4_000, outputTokens: 800 }, costUsd: 0.21012 });
    expect(tree.agents().map(({ agentId }) => agentId)).toEqual([
      "lead",
      "researcher/1",
      "helper/1",
      "researcher/2",
    ]);
  });

  test("a missing price makes every sum above it unknown, and no other", () => {
    const holed = runTree(
      [lead, account("a", "lead", { costUsd: null }), account("b", "lead")],
      new CallLog(),
    );
    expect(holed.root.total.costUsd).toBeNull();
    expect(holed.root.children.map(({ total }) => total.costUsd)).toEqual([null, 0.01]);
    expect(String(holed)).toContain("unpriced");
  });

  test("accounts that name one another do not go round in circles", () => {
    const odd = runTree([lead, account("a", "b"), account("b", "a"), account("lead", "lead")], new CallLog());
    expect(odd.agents().length).toBeLessThan(5);
  });
});

describe("the log of calls", () => {
  test("keeps each call once, however often it is told, and tells the user's hooks", () => {
    const log = new CallLog();
    const own = new HookManager();
    let heard = 0;
    own.on(HookEvent.LLM_END, () => void heard++);
    const hooks = log.listeningWith(own);
    for (const key of ["llm:a#1", "llm:a#1", "llm:a#2"]) void hooks.dispatch(HookEvent.LLM_END, llmEnd(key));
    expect(log.of(ExecId(runId)).map(({ key }) => key)).toEqual(["llm:a#1", "llm:a#2"]);
    expect(heard).toBe(3);
    expect([hooks.has(HookEvent.LLM_END), hooks.has(HookEvent.RUN_END)]).toEqual([true, false]);
  });

  test("counts what is beyond ten thousand, and does not keep it", () => {
    const log = new CallLog();
    const hooks = log.listeningWith(undefined);
    // A run that is restarted tells these twice; they count once.
    for (let at = 0; at < 5; at++) void hooks.dispatch(HookEvent.LLM_END, llmEnd(`llm:a#${at}`));
    for (let at = 0; at < 10_003; at++) void hooks.dispatch(HookEvent.LLM_END, llmEnd(`llm:a#${at}`));
    expect(log.of(ExecId(runId))).toHaveLength(10_000);
    expect(runTree([lead], log).callsNotListed).toBe(3);
  });

  test("counts a call beyond ten thousand once, however often its agent is restarted", () => {
    const log = new CallLog();
    const hooks = log.listeningWith(undefined);
    const start = { ...llmEnd(""), input: "" };
    for (const until of [10_003, 10_001, 10_005]) {
      void hooks.dispatch(HookEvent.RUN_START, start);
      for (let at = 0; at < until; at++) void hooks.dispatch(HookEvent.LLM_END, llmEnd(`llm:a#${at}`));
    }
    const child = { ...llmEnd("llm:a#1"), execId: ExecId(runId, "hire:a#1") };
    void hooks.dispatch(HookEvent.LLM_END, child);
    expect(runTree([lead], log).callsNotListed).toBe(6);
    expect(hooks.has(HookEvent.RUN_START)).toBe(true);
  });
});
