import { describe, expect, test } from "vitest";
import type { AuditEntry, AuditLog, PermissionRequest, Permissions, Telemetry } from "@ravi/kernel";
import { bareContext } from "@ravi/kernel/loop";
import { ReAct, Router, StrategyAgent } from "@ravi/architectures";
import { scriptedModel } from "@ravi/testing";
import { add, run, worker } from "./support.ts";

const ADD = { toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] };

function policy(check: Permissions["check"]): Permissions & { readonly asked: PermissionRequest[] } {
  const asked: PermissionRequest[] = [];
  return { isNoop: false, asked, check: (request) => (asked.push(request), check(request)) };
}

function ledger(fails = false): AuditLog & { readonly entries: AuditEntry[] } {
  const entries: AuditEntry[] = [];
  return {
    isNoop: false,
    entries,
    append(entry) {
      if (fails) throw new Error("disk full");
      entries.push(entry);
    },
  };
}

describe("J4: layers that do nothing are skipped, by their own word", () => {
  test("one that says isNoop is never called; one that does not, always", async () => {
    const noop = { ...policy(() => ({ allow: false, reason: "never asked" })), isNoop: true };
    const { result } = await run(new ReAct(), [ADD, "3"], { tools: [add], permissions: noop });
    expect(result.output).toBe("3");
    expect(noop.asked).toEqual([]);
    const real = policy(() => ({ allow: true }));
    await run(new ReAct(), [ADD, "3"], { tools: [add], permissions: real });
    expect(real.asked.map(({ action, target }) => [action, target])).toEqual([
      ["llm", "scripted/scripted"],
      ["tool", "add"],
      ["llm", "scripted/scripted"],
    ]);
    expect(real.asked[1]?.arguments).toEqual({ a: 1, b: 2 });
  });
});

describe("J11: permissions", () => {
  test.each([
    [
      "says no",
      policy(({ action }) => (action === "tool" ? { allow: false, reason: "no sums" } : { allow: true })),
      "no sums",
    ],
    [
      "throws",
      policy(({ action }) => {
        if (action === "tool") throw new Error("down");
        return { allow: true };
      }),
      "the policy failed (down)",
    ],
    [
      "answers nonsense",
      policy(({ action }) => (action === "tool" ? ({} as { allow: true }) : { allow: true })),
      "not permitted",
    ],
  ])("a policy that %s denies, and the model is told", async (_, permissions, why) => {
    const { events } = await run(new ReAct(), [ADD, "then not"], { tools: [add], permissions });
    const result = events.find(({ type }) => type === "toolResult");
    expect(result).toMatchObject({ isError: true, content: expect.stringContaining(why) });
  });

  test("a model that is not permitted ends the run, a worker that is not permitted is not hired", async () => {
    const noModel = policy(({ action }) =>
      action === "llm" ? { allow: false, reason: "none" } : { allow: true },
    );
    await expect(run(new ReAct(), ["x"], { permissions: noModel })).rejects.toMatchObject({
      code: "MIDDLEWARE_TERMINATION",
    });
    const noHire = policy(({ action }) =>
      action === "hire" ? { allow: false, reason: "alone" } : { allow: true },
    );
    const helper = worker("helper", ["never"]);
    await expect(
      run(new Router({ routes: { helper } }), ["helper"], { permissions: noHire }),
    ).rejects.toThrow("alone");
    expect(helper.model.calls).toEqual([]);
    // A policy may care about the version, too.
    expect(noHire.asked).toContainEqual(
      expect.objectContaining({ action: "hire", target: "helper", version: "1" }),
    );
  });
});

describe("a tool that says itself which calls need approval", () => {
  class Adder {
    readonly #limit = 3;
    readonly name = "add";
    readonly description = "Adds two numbers.";
    readonly input = add.input;
    get needsApproval(): (args: unknown) => boolean {
      return this.isLarge;
    }
    isLarge(args: unknown): boolean {
      return Object.values(args ?? {}).some((each: unknown) => Number(each) > this.#limit);
    }
    execute(): string {
      return "added";
    }
  }

  test.each([
    ["permissions", { permissions: policy(() => ({ allow: true })) }],
    ["an audit log", { auditLog: ledger() }],
  ])("R24: is asked as a method of its object, also with %s", async (_, services) => {
    const large = { toolCalls: [{ name: "add", arguments: { a: 1, b: 4 } }] };
    const { events } = await run(new ReAct(), [ADD, large, "done"], { tools: [new Adder()], ...services });
    const results = events.flatMap((event) => (event.type === "toolResult" ? [event] : []));
    expect(results).toMatchObject([{ content: "added" }, { isError: true }]);
    expect(results[1]?.content).toContain("needs approval");
  });
});

describe("J11: audit and telemetry", () => {
  test("every call is written down when it begins and when it ends, and what was denied as well", async () => {
    const auditLog = ledger();
    const permissions = policy(({ target }) =>
      target === "add" ? { allow: false, reason: "no" } : { allow: true },
    );
    await run(new ReAct(), [ADD, "ok"], { tools: [add], auditLog, permissions });
    expect(auditLog.entries.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
      ["run.begin", "react", "ok"],
      ["llm.begin", "scripted/scripted", "ok"],
      ["llm.end", "scripted/scripted", "ok"],
      ["tool", "add", "denied"],
      ["llm.begin", "scripted/scripted", "ok"],
      ["llm.end", "scripted/scripted", "ok"],
      ["run.end", "react", "ok"],
    ]);
    expect(auditLog.entries[0]?.actor).toBe("agent");
  });

  test("a denied hire is written down with the version of the agent and the reason alone, as a runtime does it", async () => {
    const auditLog = ledger();
    const permissions = policy(({ action }) =>
      action === "hire" ? { allow: false, reason: "alone" } : { allow: true },
    );
    const routes = { helper: worker("helper", ["never"]) };
    await expect(run(new Router({ routes }), ["helper"], { auditLog, permissions })).rejects.toThrow(
      "helper@1 is not permitted: alone",
    );
    const denied = auditLog.entries.filter(({ action }) => action === "hire");
    expect(denied).toMatchObject([{ target: "helper@1", outcome: "denied", details: { reason: "alone" } }]);
  });

  test.each(["llm.begin", "tool.begin"])("what %s cannot be written of is not done", async (unwritten) => {
    const auditLog: AuditLog = {
      isNoop: false,
      append({ action }) {
        if (action === unwritten) throw new Error("disk full");
      },
    };
    let made = 0;
    const touch = { ...add, execute: () => ++made };
    const model = scriptedModel(() => ADD);
    const agent = new StrategyAgent({
      name: "a",
      model,
      tools: [touch],
      auditLog,
      architecture: new ReAct(),
      maxTurns: 1,
    });
    const ctx = bareContext();
    await agent.run(ctx, ctx.inbox("go")).catch(() => undefined);
    expect([model.calls.length > 0, made]).toEqual([unwritten !== "llm.begin", 0]);
  });

  test("the same of a model that does not stream, and of one that fails", async () => {
    const auditLog = ledger();
    await run(new ReAct(), ["hi"], { auditLog, ctx: bareContext() });
    await expect(
      run(new ReAct(), [new Error("overloaded")], { auditLog, ctx: bareContext() }),
    ).rejects.toThrow("overloaded");
    await expect(run(new ReAct(), [new Error("overloaded")], { auditLog })).rejects.toThrow("overloaded");
    expect(auditLog.entries.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      "run.begin ok",
      "llm.begin ok",
      "llm.end ok",
      "run.end ok",
      "run.begin ok",
      "llm.begin ok",
      "llm.end error",
      "run.end error",
      "run.begin ok",
      "llm.begin ok",
      "llm.end error",
      "run.end error",
    ]);
  });

  test("what cannot be written down does not happen", async () => {
    const failed = run(new ReAct(), ["never"], { auditLog: ledger(true) });
    await expect(failed).rejects.toThrow("what cannot be recorded is not allowed");
  });

  test.each(["llm.end", "run.end"])(
    "a failure of which %s cannot be written is not lost",
    async (unwritten) => {
      const auditLog: AuditLog = {
        isNoop: false,
        append({ action }) {
          if (action === unwritten) throw new Error("disk full");
        },
      };
      const failed = run(new ReAct(), [new Error("overloaded")], { auditLog, ctx: bareContext() });
      const error: unknown = await failed.catch((thrown: unknown) => thrown);
      const causes = error instanceof Error && error.cause instanceof AggregateError && error.cause.errors;
      expect(causes).toEqual([new Error("overloaded"), new Error("disk full")]);
    },
  );

  test("a tool that fails ends as an error, also in the trace", async () => {
    const auditLog = ledger();
    const metrics: [string, number][] = [];
    const spans: { name: string; ended: boolean; errors: unknown[] }[] = [];
    const telemetry: Telemetry = {
      isNoop: false,
      startSpan(name) {
        const span = { name, ended: false, errors: [] as unknown[] };
        spans.push(span);
        return {
          setAttribute: () => {},
          recordError: (error) => void span.errors.push(error),
          end: () => void (span.ended = true),
        };
      },
      metric: (name, value) => void metrics.push([name, value]),
    };
    const broken = {
      ...add,
      execute: () => {
        throw new Error("no abacus");
      },
    };
    await run(new ReAct(), [ADD, "sorry"], { tools: [broken], auditLog, telemetry });
    expect(spans.map(({ name, ended, errors }) => [name, ended, errors.length])).toEqual([
      ["run", true, 0],
      ["llm", true, 0],
      ["tool", true, 1],
      ["llm", true, 0],
    ]);
    expect(metrics.map(([name]) => name)).toEqual(["tokens", "tokens"]);
    expect(auditLog.entries.find(({ action }) => action === "tool.end")).toMatchObject({
      outcome: "error",
      details: { error: "no abacus" },
    });
  });
});
