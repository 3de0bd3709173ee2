import { describe, expect, test } from "vitest";
import * as z from "zod";
import {
  AgentId,
  type AuditEntry,
  type AuditLog,
  defineTool,
  HookEvent,
  type HookPayloads,
  type Hooks,
  type JsonObject,
  type Logger,
  type Memory,
  type Meter,
  type Permissions,
  ProviderError,
  RunId,
  type Telemetry,
} from "@ravi/kernel";
import { scriptedModel } from "@ravi/testing";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { MemoryBlobs } from "./support/memory-blobs.ts";
import { agent, ask, cut, done, FakeHeadcount, FakeLedger, until } from "./support/helpers.ts";

const shout = defineTool({
  name: "shout",
  description: "",
  input: z.object({}),
  idempotent: true,
  execute: () => "!",
});
const broken = defineTool({
  name: "broken",
  description: "",
  input: z.object({}),
  execute: () => {
    throw new RangeError("no");
  },
});
const call = (name: string) => ({ id: "c", name, arguments: "{}" });

class Spans implements Telemetry {
  readonly isNoop: boolean = false;
  readonly told: string[] = [];
  startSpan(name: string, attributes: JsonObject) {
    const label = `${name} ${String(attributes["agentId"])}`;
    this.told.push(`+ ${label}`);
    return {
      setAttribute: () => {},
      recordError: (error: unknown) =>
        void this.told.push(`! ${label} ${String(Reflect.get(Object(error), "code"))}`),
      end: () => void this.told.push(`- ${label}`),
    };
  }
  metric(): void {}
}

class Audit implements AuditLog {
  readonly isNoop = false;
  readonly entries: AuditEntry[] = [];
  async append(entry: AuditEntry): Promise<void> {
    this.entries.push(entry);
  }
  get lines(): string[] {
    return this.entries.map(
      ({ actor, action, target, outcome }) => `${actor} ${action} ${target}: ${outcome}`,
    );
  }
}

const child = agent("child", async (ctx) => {
  await ctx.tool(call("shout"), shout);
  return done("");
});
const lead = agent("lead", async (ctx) => {
  await ctx.llm(scriptedModel(["ok"]), ask("1"));
  await ctx.tool(call("broken"), broken);
  await ctx.batch([
    { kind: "hire", agent: child, input: "" },
    { kind: "hire", agent: child, input: "" },
  ]);
  return done("");
});

test("J11: telemetry and an audit log are left out only if they say so clearly: untyped code may have a method there", async () => {
  const [telemetry, auditLog] = [new Spans(), new Audit()];
  for (const service of [telemetry, auditLog]) Object.assign(service, { isNoop: () => false });
  await new Runtime({ telemetry, auditLog }).run(child, "").result;
  expect(telemetry.told).toContain("+ ravi.run child");
  expect(auditLog.lines).not.toEqual([]);
});

test("J11: each span and each entry says for whom it was, and that of a hire how it ended", async () => {
  const spans: JsonObject[] = [];
  const telemetry: Telemetry = {
    startSpan(_, attributes) {
      spans.push(attributes);
      return { setAttribute() {}, recordError() {}, end() {} };
    },
    metric() {},
  };
  const short = agent("short", async () => ({ status: "partial", output: "half", stopReason: "steps" }));
  const boss = agent("boss", async (ctx) => {
    await ctx.hire({ agent: child, input: "" });
    await ctx.hire({ agent: short, input: "" });
    await ctx.spawn(short, { input: "" });
    return done("");
  });
  const auditLog = new Audit();
  const runtime = new Runtime({ telemetry, auditLog });
  await runtime.run(boss, "", { tenantId: "acme", userId: "ada" }).result;
  expect(spans).toHaveLength(5);
  for (const span of spans) expect(span).toMatchObject({ tenantId: "acme", userId: "ada" });
  const details = auditLog.entries.map((entry) => entry.details);
  for (const each of details) expect(each).toMatchObject({ tenantId: "acme", userId: "ada" });
  expect(details.map((each) => each?.["status"])).toEqual([undefined, "completed", "partial", undefined]);

  spans.length = 0;
  await runtime.run(child, "").result;
  for (const span of spans) expect(Object.keys(span)).not.toContain("tenantId");
});

describe("telemetry", () => {
  test("J11: there is a span around the run, each hire, each model call and each tool call, which records a failure of the tool", async () => {
    const telemetry = new Spans();
    await new Runtime({ telemetry, headcount: () => new FakeHeadcount(1) }).run(lead, "").result;
    expect(telemetry.told).toEqual([
      "+ ravi.run lead",
      "+ ravi.llm lead",
      "- ravi.llm lead",
      "+ ravi.tool lead",
      "! ravi.tool lead TOOL_ERROR",
      "- ravi.tool lead",
      "+ ravi.hire child/1",
      "+ ravi.tool child/1",
      "- ravi.tool child/1",
      "- ravi.hire child/1",
      "- ravi.run lead",
    ]);
  });

  test("J11: the span of a model call has what it used and cost, also of failed attempts; that of an agent how it ended", async () => {
    const ended: (readonly [string, string, unknown])[] = [];
    const telemetry: Telemetry = {
      isNoop: false,
      startSpan: (name) => ({
        setAttribute: (key, value) => void ended.push([name, key, value]),
        recordError: () => {},
        end: () => {},
      }),
      metric: () => {},
    };
    const meter: Meter = {
      estimate: () => ({ inputTokens: 3, maxOutputTokens: 2, price: { usd: 2 } }),
      price: () => ({ usd: 1 }),
    };
    const cutOff = new ProviderError({ kind: "TIMEOUT", message: "cut off" });
    const failing = agent("failing", async (ctx) => {
      const usage = { inputTokens: 5, outputTokens: 1, cachedInputTokens: 4, reasoningTokens: 0 };
      await ctx.llm(scriptedModel([{ text: "ok", usage }]), ask("1"));
      await ctx.llm(scriptedModel([cutOff]), ask("2"));
      return done("");
    });
    const runtime = new Runtime({ telemetry, meter, ledger: () => new FakeLedger({}) });
    expect((await runtime.run(failing, "").result).status).toBe("failed");
    const called = [
      {
        inputTokens: 5,
        outputTokens: 1,
        cachedInputTokens: 4,
        reasoningTokens: 0,
        costUsd: 1,
        finishReason: "stop",
        responseId: "scripted-0",
      },
      { inputTokens: 3, outputTokens: 2, costUsd: 2, estimated: true },
    ];
    const calls = called.flatMap((each) => Object.entries(each).map((pair) => ["ravi.llm", ...pair]));
    expect(ended).toEqual([...calls, ["ravi.run", "status", "failed"]]);
  });

  test("J11: what is not known is left out, and a span is ended also if it takes no attributes", async () => {
    const told: string[] = [];
    const telemetry: Telemetry = {
      isNoop: false,
      startSpan: (name) => ({
        setAttribute(key) {
          told.push(`${name} ${key}`);
          if (name === "ravi.run") throw new Error("no attributes");
        },
        recordError: () => {},
        end: () => void told.push(`${name} end`),
      }),
      metric: () => {},
    };
    const asking = agent("asking", async (ctx) => {
      await ctx.llm(scriptedModel(["ok"]), ask("1"));
      return done("");
    });
    const meter: Meter = {
      estimate: () => ({ inputTokens: 3, maxOutputTokens: 2, price: { unpriced: true } }),
      price: () => ({ unpriced: true }),
    };
    await new Runtime({ telemetry, meter }).run(asking, "").result;
    expect(told).toEqual([
      "ravi.llm inputTokens",
      "ravi.llm outputTokens",
      "ravi.llm finishReason",
      "ravi.llm responseId",
      "ravi.llm end",
      "ravi.run status",
      "ravi.run end",
    ]);
  });

  test("J11: observers are told the beginning and the end of a long failure", async () => {
    const long = agent("long", async (ctx) => {
      const tool = defineTool({ ...broken, execute: () => new Error(`first ${"x".repeat(9_000)} last`) });
      await ctx.tool(call("broken"), tool);
      return done("");
    });
    const errors: string[] = [];
    const recordError = (error: unknown) => void errors.push(String(Reflect.get(Object(error), "message")));
    const startSpan = () => ({ setAttribute: () => {}, recordError, end: () => {} });
    await new Runtime({ telemetry: { isNoop: false, startSpan, metric: () => {} } }).run(long, "").result;
    expect(errors).toEqual([expect.stringMatching(/^first x+\n\[.*\]\nx+ last$/)]);
    expect(errors[0]?.length).toBeLessThanOrEqual(2_000);
  });

  test("T13: what looks like a key in the failure of a tool is told to the model, and to no observer", async () => {
    const said = "GET https://me:hunter2@db/?token=abcdef failed, Authorization: Bearer abcdefghijk";
    const heard: unknown[] = [];
    const leaky = agent("leaky", async (ctx) => {
      const tool = defineTool({ ...broken, execute: () => Promise.reject(new Error(said)) });
      heard.push((await ctx.tool(call("broken"), tool)).content);
      return done("");
    });
    const told: unknown[] = [];
    const recordError = (error: unknown): void => void told.push(Reflect.get(Object(error), "message"));
    const startSpan = () => ({ setAttribute: () => {}, recordError, end: () => {} });
    const hooks: Hooks = {
      has: (event) => event === HookEvent.TOOL_END,
      dispatch: (_, payload) => void told.push((payload as HookPayloads["tool_end"]).error?.message),
      drain() {},
    };
    const telemetry: Telemetry = { isNoop: false, startSpan, metric: () => {} };
    await new Runtime({ telemetry, hooks }).run(leaky, "").result;
    const shown = "GET https://[redacted]@db/?token=[redacted] failed, Authorization: Bearer [redacted]";
    expect(told).toEqual([shown, shown]);
    expect(heard).toEqual([`error: ${said}`]);
  });

  test("J11: one that is no-op is not asked, and one that throws changes nothing", async () => {
    class Noop extends Spans {
      override readonly isNoop = true;
    }
    const noop = new Noop();
    const errors: string[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      warn() {},
      error: (message) => void errors.push(message),
    };
    const throwing: Telemetry = {
      isNoop: false,
      startSpan() {
        throw new Error("no exporter");
      },
      metric() {},
    };
    expect((await new Runtime({ telemetry: noop }).run(lead, "").result).status).toBe("completed");
    expect((await new Runtime({ telemetry: throwing, logger }).run(lead, "").result).status).toBe(
      "completed",
    );
    expect(noop.told).toEqual([]);
    expect(errors[0]).toContain("telemetry failed");
  });
});

describe("permissions", () => {
  test.each([
    ['{"usd":80}', { usd: 80 }],
    ["", {}],
  ])("J11: get the arguments %j of a tool as data", async (text, data) => {
    const asked: unknown[] = [];
    const check: Permissions["check"] = ({ action, arguments: given }) => {
      asked.push([action, given]);
      return { allow: true };
    };
    const worker = agent("worker", async (ctx) => {
      await ctx.tool({ ...call("shout"), arguments: text }, shout);
      await ctx.hire({ agent: child, input: '{"usd":80}' });
      return done("");
    });
    await new Runtime({ permissions: { check } }).run(worker, "").result;
    expect(asked).toEqual(expect.arrayContaining([["tool", data]]));
    // The input of a hire is a text, whatever it looks like.
    expect(asked).toEqual(expect.arrayContaining([["hire", '{"usd":80}']]));
  });
});

describe("the audit log", () => {
  test("J11: hires, denials, approvals, tool calls and cancellations are provable", async () => {
    const auditLog = new Audit();
    const permissions: Permissions = {
      isNoop: false,
      check: ({ target }) => (target === "forbidden" ? { allow: false, reason: "not you" } : { allow: true }),
    };
    const forbidden = defineTool({ ...shout, name: "forbidden" });
    const asked = defineTool({ ...shout, name: "asked", needsApproval: true });
    const worker = agent("worker", async (ctx) => {
      await ctx.batch([
        { kind: "hire", agent: child, input: "" },
        { kind: "hire", agent: child, input: "" },
      ]);
      await ctx.tool(call("forbidden"), forbidden);
      await ctx.tool(call("asked"), asked);
      await ctx.waitFor("never");
      return done("");
    });
    const headcount = () => new FakeHeadcount(1);
    const runtime = new Runtime({ auditLog, permissions, headcount, journal: new MemoryJournal() });
    const handle = runtime.run(worker, "", { runId: "a" });
    await runtime.deliver("a", "approval:a:tool:asked#1", true);
    await until(() => auditLog.lines.some((line) => line.includes("tool asked")));
    handle.cancel("enough");
    await handle.result;
    expect(auditLog.lines).toEqual([
      "child/1 tool shout: ok",
      "worker hire child@1: ok",
      "worker hire child@1: denied",
      "worker tool forbidden: denied",
      "worker approval asked: ok",
      "worker tool asked: ok",
      "worker cancel worker: ok",
    ]);
    expect(auditLog.entries.every(({ details }) => details?.["runId"] === "a")).toBe(true);
  });

  test("J11: one that cannot write is complained of, and changes no run", async () => {
    const errors: string[] = [];
    const logger: Logger = {
      debug() {},
      info() {},
      warn() {},
      error: (message) => void errors.push(message),
    };
    const auditLog: AuditLog = { isNoop: false, append: () => Promise.reject(new Error("disk full")) };
    expect((await new Runtime({ auditLog, logger }).run(lead, "").result).status).toBe("completed");
    expect(errors[0]).toBe("the audit log failed; the run continues without it");
  });
});

describe("what else a runtime is given", () => {
  test("R24: bodies above 256 KB go to the blob store that was given, and come back from it", async () => {
    const journal = new MemoryJournal();
    const blobs = new MemoryBlobs();
    const model = scriptedModel(["x".repeat(300_000)]);
    const big = agent("big", async (ctx) => {
      const { message } = await ctx.llm(model, ask("1"));
      await ctx.waitFor("on");
      return done(String(message.content?.length));
    });
    const first = new Runtime({ journal, blobs });
    const handle = first.run(big, "", { runId: "b" });
    await until(() => handle.status === "suspended");
    await first.close();
    const bodies = journal.load(RunId("b")).map(({ body }) => JSON.stringify(body));
    expect(Math.max(...bodies.map(({ length }) => length))).toBeLessThan(1_000);
    const ref = bodies.find((body) => body.includes("~blob"));
    expect(ref).toMatch(/^\{"~blob":"sha256-[0-9a-f]{64}"\}$/);

    const second = new Runtime({ journal, blobs, agents: [big] });
    await second.deliver("b", "on", 1);
    expect((await second.resume("b").result).output).toBe("300000");
    expect(model.calls).toHaveLength(1);

    const copy = cut("b", journal.load(RunId("b")).slice(0, 4));
    const lost = new Runtime({ journal: copy, blobs: new MemoryBlobs(), agents: [big] });
    await expect(lost.resume("b").result).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  });

  test("R10: an agent finds the memory that the composition has given", async () => {
    const memory: Memory = {
      isNoop: false,
      remember: (_scope, text) => ({ id: "1", text, at: 0 }),
      recall: ({ userId }, query) => [{ id: "1", text: `${String(userId)} ${query}`, at: 0 }],
      forget: () => {},
    };
    const knowing = agent("knowing", async (ctx) => {
      const [item] = (await ctx.memory?.recall(ctx.scope, "tea")) ?? [];
      return done(item?.text ?? "nothing");
    });
    expect((await new Runtime({ memory }).run(knowing, "", { userId: "ada" }).result).output).toBe("ada tea");
    expect((await new Runtime().run(knowing, "").result).output).toBe("nothing");
  });

  test("R24: a version that is asked for is looked up by its name, and pinned", async () => {
    const versioned = (version: string) => ({
      id: AgentId("v"),
      version,
      run: async () => done(version),
    });
    const journal = new MemoryJournal();
    const runtime = new Runtime({ journal, agents: [versioned("1"), versioned("2")] });
    expect((await runtime.run(versioned("2"), "", { version: "1", runId: "v" }).result).output).toBe("1");
    expect(await runtime.list()).toMatchObject([{ agent: "v@1" }]);
    expect(() => runtime.run(versioned("2"), "", { version: "9" })).toThrow(
      "agent v@9 is not registered; registered agents: v@1, v@2",
    );
  });
});
