import {
  type Agent,
  AgentId,
  defineTool,
  type FunctionContext,
  type Next,
  type Permissions,
} from "@ravi/kernel";
import { Router, StrategyAgent, Supervisor } from "@ravi/architectures";
import { ParallelFlow } from "@ravi/flow";
import { MiddlewarePipeline, type PermissionRule, rulePermissions } from "@ravi/middleware";
import { OrchestratorAgent } from "@ravi/orchestrator";
import { ReActAgent } from "@ravi/react-agent";
import { Runtime } from "@ravi/runtime";
import { type Answer, scriptedModel } from "@ravi/testing";
import { beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { governed } from "../src/leading.ts";

let paid = 0;

beforeEach(() => {
  paid = 0;
});

const pay = defineTool({
  name: "pay",
  description: "Pays a bill.",
  input: z.object({}),
  execute: () => `paid ${++paid}`,
});

const PAYS: Answer = { toolCalls: [{ name: "pay" }] };

const calls = (name: string, args: Readonly<Record<string, unknown>>): Answer => ({
  toolCalls: [{ name, arguments: args as never }],
});

const hires = (name: string): Answer =>
  calls("hire_helper", { name, instructions: "Pay.", tools: ["pay"], task: "Pay now." });

const spawns = (name: string): Answer => calls("spawn", { name, instructions: "Pay.", task: "Pay now." });

/** A layer of the lead's own, with which nobody pays. */
const noPaying = new MiddlewarePipeline(
  [
    {
      level: "function",
      name: "noPaying",
      async process(context: FunctionContext, next: Next) {
        if (context.functionName !== "pay") return next();
        context.result = { content: "nobody pays here", isError: true };
        return undefined;
      },
    },
  ],
  { level: "function" },
);

const onlyPayerPays: Permissions = rulePermissions({
  rules: [
    { effect: "allow", action: "tool", target: "pay", agent: "payer" },
    { effect: "allow", action: ["llm", "hire"] },
  ],
});

describe("a helper that a model has defined", () => {
  test("is inside the orchestrator's own layers", async () => {
    const lead = new OrchestratorAgent({
      name: "lead",
      model: scriptedModel([hires("clerk"), "done"]),
      middleware: { function: noPaying },
      dynamicHiring: { tools: [pay], model: scriptedModel([PAYS, "could not"]) },
    });
    await new Runtime().run(lead, "go").result;
    expect(paid).toBe(0);
  });

  test("has not the rights of the agent whose name it is given", async () => {
    const lead = new OrchestratorAgent({
      name: "lead",
      model: scriptedModel([hires("payer"), "done"]),
      dynamicHiring: { tools: [pay], model: scriptedModel([PAYS, "could not"]) },
    });
    const { agents } = await new Runtime({ permissions: onlyPayerPays }).run(lead, "go").result;
    expect(agents?.map(({ agentId }) => agentId)).toEqual(["lead", "helper:payer/1"]);
    expect(paid).toBe(0);
  });

  test("can be forbidden by a rule for all of them", async () => {
    const lead = new OrchestratorAgent({
      name: "lead",
      model: scriptedModel([hires("clerk"), "done"]),
      dynamicHiring: { tools: [pay], model: scriptedModel([PAYS]) },
    });
    const permissions = rulePermissions({
      rules: [{ effect: "deny", action: "hire", target: "helper:*" }],
      otherwise: "allow",
    });
    await new Runtime({ permissions }).run(lead, "go").result;
    expect(paid).toBe(0);
  });
});

describe("a worker that a supervisor's model has defined", () => {
  /** The supervisor and its workers have one model. */
  const supervisor = (name: string, more: object = {}) =>
    new StrategyAgent({
      name: "lead",
      model: scriptedModel([spawns(name), PAYS, "could not", "done"]),
      tools: [pay],
      architecture: new Supervisor({ workers: {}, spawn: true }),
      ...more,
    });

  test("may not do what the supervisor's own permissions deny", async () => {
    const permissions = rulePermissions({
      rules: [{ effect: "deny", action: "tool", target: "pay" }],
      otherwise: "allow",
    });
    await new Runtime().run(supervisor("clerk", { permissions }), "go").result;
    expect(paid).toBe(0);
  });

  test("is on record in the supervisor's own audit log", async () => {
    const entries: string[] = [];
    const auditLog = {
      isNoop: false,
      append: ({ action, target }: { action: string; target: string }) =>
        void entries.push(`${action} ${target}`),
    };
    await new Runtime().run(supervisor("clerk", { auditLog }), "go").result;
    expect(paid).toBe(1);
    expect(entries).toContain("tool.begin pay");
  });

  test("is inside the supervisor's own layers", async () => {
    await new Runtime().run(supervisor("clerk", { middleware: { function: noPaying } }), "go").result;
    expect(paid).toBe(0);
  });

  test("has not the rights of the agent whose name it is given", async () => {
    const { agents } = await new Runtime({ permissions: onlyPayerPays }).run(supervisor("payer"), "go")
      .result;
    expect(agents?.map(({ agentId }) => agentId)).toEqual(["lead", "helper:payer/1"]);
    expect(paid).toBe(0);
  });
});

describe("where all slots are taken", () => {
  const working = (permissions?: Permissions) => {
    const clerk = new ReActAgent({ name: "clerk", model: scriptedModel([PAYS, "could not"]), tools: [pay] });
    const flow = new ParallelFlow({ name: "flow", branches: [clerk] });
    return governed({ permissions }).run(flow, "go", { spawnBudget: { maxAgents: 1 } }).result;
  };

  test("nobody works in the slot, and so with the rights, of the one who hires it", async () => {
    const rules = [{ effect: "deny", action: "tool", target: "pay", agent: "clerk" }] as const;
    await working(rulePermissions({ rules, otherwise: "allow" }));
    expect(paid).toBe(0);
  });

  test("nor if the permissions do not say whether they do something", async () => {
    const rules = [{ effect: "deny", action: "tool", target: "pay", agent: "clerk" }] as const;
    const given = rulePermissions({ rules, otherwise: "allow" });
    const plain: Permissions = { check: (request) => given.check(request) };
    await working(plain);
    expect(paid).toBe(0);
  });

  test("nor with the rights of a strategy that has permissions of its own", async () => {
    const clerk = new ReActAgent({ name: "clerk", model: scriptedModel([PAYS, "could not"]), tools: [pay] });
    const asked: string[] = [];
    const permissions: Permissions = {
      check({ action, target }) {
        asked.push(`${action} ${target}`);
        return { allow: true };
      },
    };
    const lead = new StrategyAgent({
      name: "lead",
      model: scriptedModel(["clerk"]),
      permissions,
      architecture: new Router({ routes: { clerk } }),
    });
    const { agents } = await governed().run(lead, "go", { spawnBudget: { maxAgents: 1 } }).result;
    expect(agents?.map(({ agentId, status }) => `${agentId} ${status}`)).toContain("clerk/1 denied");
    expect(asked).toContain("hire clerk");
    expect(asked).not.toContain("tool pay");
    expect(paid).toBe(0);
  });

  test("without permissions somebody does", async () => {
    await working();
    expect(paid).toBe(1);
  });
});

const payer: Agent = {
  id: AgentId("payer"),
  version: "7",
  run: async () => ({ status: "completed", output: "paid", stopReason: "done" }),
};

const lead: Agent = {
  id: AgentId("lead"),
  async run(ctx) {
    const { status } = await ctx.hire({ kind: "hire", agent: payer, input: "pay" });
    return { status: "completed", output: status, stopReason: "done" };
  },
};

async function hiring(rule: PermissionRule, otherwise: "allow" | "deny"): Promise<string> {
  await using runtime = new Runtime({ permissions: rulePermissions({ rules: [rule], otherwise }) });
  return (await runtime.run(lead, "").result).output;
}

test("a rule for a hire names the agent, and applies to every version of it", async () => {
  expect(await hiring({ effect: "deny", action: "hire", target: "payer" }, "allow")).toBe("denied");
  expect(await hiring({ effect: "allow", action: "hire", target: "payer" }, "deny")).toBe("completed");
  expect(await hiring({ effect: "deny", action: "hire", target: "pay" }, "allow")).toBe("completed");
  // Or one version of it.
  expect(await hiring({ effect: "deny", action: "hire", target: "payer@7" }, "allow")).toBe("denied");
  expect(await hiring({ effect: "deny", target: "payer@*" }, "allow")).toBe("denied");
  expect(await hiring({ effect: "deny", action: "hire", target: "payer@8" }, "allow")).toBe("completed");
  expect(await hiring({ effect: "allow", action: "hire", target: "payer@8" }, "deny")).toBe("denied");
});
