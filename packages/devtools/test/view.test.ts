import { describe, expect, test } from "vitest";
import {
  type AgentAccount,
  AgentId,
  type AgentEvent,
  ExecId,
  executionBudget,
  type PendingWait,
  Priority,
  type RecordedCall,
  RunId,
  type RunReport,
} from "@ravi/kernel";
import {
  amountIn,
  answerIn,
  barsOf,
  cutOffOf,
  dollars,
  duration,
  isBudget,
  isNext,
  kindOf,
  limitsOf,
  lineOf,
  priorityOf,
  questionOf,
  reasonOf,
  rowsOf,
} from "../src/page/view.js";

const account = (id: string, parent: string | null, more: Partial<AgentAccount> = {}): AgentAccount => ({
  execId: ExecId(RunId("run"), id),
  agentId: AgentId(id),
  parent: parent === null ? null : AgentId(parent),
  priority: Priority.NORMAL,
  status: "completed",
  usage: { inputTokens: 10, outputTokens: 5 },
  costUsd: 0.5,
  modelCalls: 2,
  toolCalls: 3,
  retries: 0,
  wasteUsd: 0,
  ...more,
});

const report = (more: Partial<RunReport> = {}): RunReport => ({
  runId: RunId("run"),
  agent: "lead@1",
  status: "running",
  startedAt: 1_000,
  updatedAt: 5_000,
  entries: 9,
  input: "go",
  usage: { inputTokens: 100, outputTokens: 50 },
  cost: 1,
  limits: { spawnBudget: null, executionBudget: null },
  agents: [account("lead", null)],
  calls: [],
  inDoubt: [],
  ...more,
});

const wait = (more: Partial<PendingWait> = {}): PendingWait => ({
  kind: "approval",
  name: "approval:tool:1:0",
  agentId: AgentId("lead"),
  execId: ExecId(RunId("run")),
  since: 1,
  ...more,
});

test.each([
  ["2.5", { cost: 2.5 }],
  [" .5 ", { cost: 0.5 }],
  ['{"tokens": 1000, "turns": 2}', { tokens: 1000, turns: 2 }],
  ...["", "0", "-1", "five", "Infinity", "1e999", "null", "[1]", '"2"'].map(
    (text) => [text, undefined] as const,
  ),
] as const)("the amount in %j", (text, amount) => {
  expect(amountIn(text)).toEqual(amount);
});

test("of several waits of one name, the first gets the next answer", () => {
  const all = [wait(), wait({ name: "colour" }), wait(), wait({ name: "colour" })];
  expect(all.map((one) => isNext(one, all))).toEqual([true, true, false, false]);
});

const shape = (agents: readonly AgentAccount[]) =>
  rowsOf(agents).map(({ account: { agentId }, depth }) => `${"  ".repeat(depth)}${agentId}`);

describe("the tree", () => {
  test("each agent stands below the one that hired it, in the order of hiring", () => {
    const agents = [
      account("lead", null),
      account("a", "lead"),
      account("b", "lead"),
      account("a1", "a"),
      account("a2", "a"),
      account("b1", "b"),
    ];
    expect(shape(agents)).toEqual(["lead", "  a", "    a1", "    a2", "  b", "    b1"]);
  });

  test("an agent of the same id as an earlier one has its own helpers", () => {
    const agents = [
      account("lead", null),
      account("a", "lead"),
      account("x", "a"),
      account("a", "lead"),
      account("y", "a"),
    ];
    expect(shape(agents)).toEqual(["lead", "  a", "    x", "  a", "    y"]);
  });

  test("one whose parent is not listed stands below the root; no agents are no rows", () => {
    expect(shape([account("lead", null), account("a", "gone")])).toEqual(["lead", "  a"]);
    expect(rowsOf([])).toEqual([]);
  });

  test("10,000 agents in one line are no problem", () => {
    const agents = Array.from({ length: 10_000 }, (_, n) => account(`a${n}`, n === 0 ? null : `a${n - 1}`));
    expect(rowsOf(agents).at(-1)).toMatchObject({ depth: 9_999 });
  });
});

describe("limits", () => {
  test("what is used of each limit", () => {
    const budget = executionBudget({
      maxCostUsd: 4,
      maxTokens: 300,
      maxTurns: 4,
      maxToolCalls: 0,
      deadlineS: 10,
    });
    const shown = limitsOf(report({ limits: { spawnBudget: null, executionBudget: budget } }), 6_000);
    expect(shown).toEqual([
      { name: "cost", text: "$1 of $4", part: 0.25 },
      { name: "tokens", text: "150 of 300", part: 0.5 },
      { name: "model calls", text: "2 of 4", part: 0.5 },
      { name: "tool calls", text: "3 of 0", part: 1 },
      { name: "time", text: "5.0 s of 10 s", part: 0.5 },
    ]);
  });

  test("the calls of agents that are not listed count", () => {
    const shown = limitsOf(report(), 6_000, { modelCalls: 10_000, toolCalls: 500 });
    expect(shown.slice(2, 4).map(({ text }) => text)).toEqual(["10,002", "503"]);
  });

  test("without a limit there is only what was used; the time of a run that has ended stands still", () => {
    const shown = limitsOf(report({ status: "completed", cost: null }), 99_000);
    expect(shown.map(({ text }) => text)).toEqual(["unknown", "150", "2", "3", "4.0 s"]);
    expect(shown.every(({ part }) => part === 0)).toBe(true);
  });

  test("an unknown cost fills its bar", () => {
    const limits = { spawnBudget: null, executionBudget: executionBudget({ maxCostUsd: 1 }) };
    expect(limitsOf(report({ cost: null, limits }), 0)[0]).toEqual({
      name: "cost",
      text: "unknown of $1",
      part: 1,
    });
  });
});

describe("calls", () => {
  const call = (more: Partial<RecordedCall>): RecordedCall => ({
    execId: ExecId(RunId("run"), "lead"),
    key: "llm:m#1",
    kind: "llm",
    name: "m",
    status: "ok",
    startedAt: 1_000,
    ...more,
  });

  test("each takes its part of the time from the first to the last", () => {
    const calls = [
      call({ endedAt: 2_000, costUsd: 0.25 }),
      call({ startedAt: 2_000, endedAt: 5_000, kind: "tool", execId: ExecId(RunId("run"), "other") }),
      call({ startedAt: 2_000, endedAt: 3_000, costUsd: null }),
    ];
    expect(barsOf(report({ calls }), 9_000)).toMatchObject([
      { who: "lead", left: 0, width: 0.25, text: "1.0 s, $0.25" },
      { who: "run/other", left: 0.25, width: 0.75, text: "3.0 s" },
      { who: "lead", left: 0.25, width: 0.25, text: "1.0 s, cost unknown" },
    ]);
  });

  test("an open one lasts until now, or until its process was killed", () => {
    const calls = [call({ status: "open" })];
    const heldBy = { owner: "process 1" };
    expect(barsOf(report({ calls, heldBy }), 9_000)[0]?.text).toBe("open for 8.0 s");
    expect(barsOf(report({ calls }), 9_000)[0]?.text).toBe("open for 4.0 s");
    const waiting = [call({ status: "waiting" })];
    expect(barsOf(report({ calls: waiting, heldBy }), 9_000)[0]?.text).toBe("waiting for 8.0 s");
  });

  test("calls that took no time have a place all the same", () => {
    const [bar] = barsOf(report({ calls: [call({ endedAt: 1_000 })] }), 9_000);
    expect([bar?.left, bar?.width]).toEqual([0, 0]);
  });
});

describe("what a run waits for", () => {
  test("a tool call, with its arguments as data", () => {
    const question = { tool: "refund", callId: "c", arguments: '{"usd":50}' };
    expect(questionOf(wait({ question }))).toBe('refund {\n  "usd": 50\n}');
    expect(questionOf(wait({ question: { tool: "refund", arguments: { usd: 50 } } }))).toBe(
      'refund {\n  "usd": 50\n}',
    );
    expect(questionOf(wait({ question: { tool: "refund", arguments: "no json" } }))).toBe("refund no json");
    expect(questionOf(wait({ question: { tool: "refund" } }))).toBe("refund");
  });

  test("any other question", () => {
    expect(questionOf(wait({ question: "Which?" }))).toBe("Which?");
    expect(questionOf(wait({ question: { a: 1 } }))).toBe('{\n  "a": 1\n}');
    expect(questionOf(wait({ question: null }))).toBe("");
    expect(questionOf(wait())).toBe("");
  });

  test("T14: what a browser would not show, or would show in another order, is seen as its code", () => {
    const given = JSON.stringify({ file: "invoice\u202efdp.exe", to: "a\u200bb", tag: "\u{e0041}" });
    const seen = '"file": "invoice\\u202efdp.exe",\n  "to": "a\\u200bb",\n  "tag": "\\udb40\\udc41"';
    expect(questionOf(wait({ question: { tool: "send", arguments: given } }))).toBe(`send {\n  ${seen}\n}`);
    expect(questionOf(wait({ question: "Send it?\nTo \u2066b" }))).toBe("Send it?\nTo \\u2066b");
  });

  test("more budget is known by the name of its wait", () => {
    const budget = wait({ name: "approval:budget:run" });
    expect([isBudget(budget), kindOf(budget)]).toEqual([true, "more budget"]);
    expect([isBudget(wait()), kindOf(wait())]).toEqual([false, "an approval"]);
  });

  test("an answer is JSON, or else a text", () => {
    expect(['{"a":1}', " 5 ", "true", '"5"', "blue", "", "{a"].map(answerIn)).toEqual([
      { a: 1 },
      5,
      true,
      "5",
      "blue",
      "",
      "{a",
    ]);
  });

  test("the list says why a run stands as it does", () => {
    expect(reasonOf(report({ waitingFor: [wait(), wait(), wait()] }))).toBe(
      "lead waits for an approval and 2 more",
    );
    expect(reasonOf(report({ cancelReason: "enough", waitingFor: [wait()] }))).toBe("cancelled: enough");
    expect(reasonOf(report({ status: "failed", error: { code: null, message: "no money" } }))).toBe(
      "no money",
    );
    expect(reasonOf(report({ status: "completed", error: { code: null, message: "x" } }))).toBe("");
    expect(reasonOf(report())).toBe("");
  });
});

test("an agent that was cut off says by what, and whose limit it was", () => {
  const stoppedBy = { dimension: "tokens", scope: "lead", limit: 10, used: 9 } as const;
  expect(cutOffOf(account("a", null))).toBe("");
  expect(cutOffOf(account("a", null, { stopReason: "deadline" }))).toBe("deadline");
  expect(cutOffOf(account("a", null, { stopReason: "budget", stoppedBy }))).toBe("budget: tokens of lead");
});

test("priorities have their names", () => {
  for (const [name, priority] of Object.entries(Priority))
    expect(priorityOf(priority)).toBe(name.toLowerCase());
});

test("amounts and times are short", () => {
  expect([0, 0.000_123_456, 0.5, 1, 12.345].map(dollars)).toEqual([
    "$0",
    "$0.0001235",
    "$0.5",
    "$1",
    "$12.35",
  ]);
  expect([-5, 1_234, 45_000, 600_000, 7_200_000, 864_000_000].map(duration)).toEqual([
    "0.0 s",
    "1.2 s",
    "45 s",
    "10 min",
    "2 h",
    "10 days",
  ]);
});

test.each<[AgentEvent, string, string]>([
  [{ type: "started", input: "go" }, "told", "go"],
  [{ type: "text", delta: "hi" }, "says", "hi"],
  [{ type: "reasoning", delta: "hm" }, "thinks", "hm"],
  [
    { type: "usage", usage: { inputTokens: 1_234, outputTokens: 5 }, costUsd: null },
    "used",
    "1,234 + 5 tokens, an unknown amount",
  ],
  [{ type: "toolCall", call: { id: "c", name: "add", arguments: "{}" } }, "calls", "add {}"],
  [{ type: "toolResult", callId: "c", name: "add", content: "2", isError: false }, "gets", "add: 2"],
  [
    {
      type: "toolResult",
      callId: "c",
      name: "add",
      content: [
        { type: "text", text: "no" },
        { type: "image", url: "data:," },
      ],
      isError: true,
    },
    "fails",
    "add: no\n(image)",
  ],
  [{ type: "handoff", to: AgentId("b"), task: "do" }, "hires", "b: do"],
  [
    { type: "completed", result: { status: "completed", output: "ok", stopReason: "done" } },
    "ends",
    "completed: ok",
  ],
  [
    { type: "completed", result: { status: "partial", output: "", stopReason: "budget" } },
    "ends",
    "partial (budget): ",
  ],
  [{ type: "progress", name: "rows", data: { done: 1 } }, "rows", '{\n  "done": 1\n}'],
  [{ type: "step", step: 1 }, "step", ""],
])("an event is a line of the log: %j", (event, kind, text) => {
  expect(lineOf(event)).toEqual({ kind, text });
});
