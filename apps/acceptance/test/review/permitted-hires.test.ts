import { AgentId, type Agent } from "@ravi/kernel";
import { type PermissionRule, rulePermissions } from "@ravi/middleware";
import { Runtime } from "@ravi/runtime";
import { expect, test } from "vitest";

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
