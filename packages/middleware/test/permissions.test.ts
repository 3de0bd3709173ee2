import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AgentId, type PermissionRequest, RunId, SessionId } from "@ravi/kernel";
import { type PermissionRule, rulePermissions } from "@ravi/middleware";
import { matches } from "../src/permissions/pattern.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 300;

function request(
  over: Partial<PermissionRequest> & { userId?: string | null; tenantId?: string | null } = {},
): PermissionRequest {
  const { userId = "ann", tenantId = null, ...rest } = over;
  return {
    agentId: AgentId("lead", 1),
    action: "tool",
    target: "files.read",
    scope: { userId, tenantId, sessionId: SessionId("s"), runId: RunId("r"), metadata: {} },
    ...rest,
  };
}
const decide = async (rules: readonly PermissionRule[], asked = request()): Promise<boolean> =>
  (await rulePermissions({ rules }).check(asked)).allow;

describe("J11: permissions by rules", () => {
  test.each(["openai/qwen3:8b", "openai:qwen3:8b", "openai:*", "openai/*"])(
    "J11: a model is forbidden by its id, and as an agent is given it: %s",
    async (target) => {
      const { check } = rulePermissions({ rules: [{ effect: "deny", target }], otherwise: "allow" });
      const ask = async (over: Partial<PermissionRequest>): Promise<boolean> =>
        (await check(request(over))).allow;
      expect(await ask({ action: "llm", target: "openai/qwen3:8b" })).toBe(false);
      expect(await ask({ action: "llm", target: "anthropic/qwen3:8b" })).toBe(true);
      // Only models have two names.
      expect(await ask({ action: "hire", target: target.includes("/") ? "openai:x" : "openai/x" })).toBe(
        true,
      );
    },
  );

  test.each([
    ["action", "tools"],
    ["action", []],
    ["action", ["tool", "models"]],
    ["target", /erase/],
    ["target", []],
    ["agent", 7],
    ["user", [undefined]],
    ["tenant", {}],
  ])("a rule that could never fit is refused when it is built: %s %j", (field, value) => {
    const rule = { effect: "deny", [field]: value } as object as PermissionRule;
    expect(() => rulePermissions({ rules: [rule], otherwise: "allow" })).toThrow(
      `rulePermissions.rules[0].${field}`,
    );
  });

  test("a list that is changed later changes no rule", async () => {
    const target = ["files.read"];
    const permissions = rulePermissions({ rules: [{ effect: "deny", target }], otherwise: "allow" });
    target.pop();
    expect(await permissions.check(request())).toMatchObject({ allow: false });
  });

  test("what no rule allows is denied, and says so", async () => {
    expect(await rulePermissions({ rules: [] }).check(request())).toEqual({
      allow: false,
      reason: "no rule allows tool files.read",
    });
  });

  test.each<[string, PermissionRule, boolean]>([
    ["everything", { effect: "allow" }, true],
    ["this action", { effect: "allow", action: ["tool", "llm"] }, true],
    ["another action", { effect: "allow", action: "hire" }, false],
    ["targets like it", { effect: "allow", target: ["files.*"] }, true],
    ["other targets", { effect: "allow", target: "file" }, false],
    ["the agent by its name", { effect: "allow", agent: "lead" }, true],
    ["another agent", { effect: "allow", agent: "lea" }, false],
    ["one of several agents", { effect: "allow", agent: ["editor", "lead"] }, true],
    ["the user", { effect: "allow", user: ["ann", null] }, true],
    ["nobody", { effect: "allow", user: null }, false],
    ["no tenant", { effect: "allow", tenant: null }, true],
    ["another tenant", { effect: "allow", tenant: ["acme", "globex"] }, false],
    ["when it says yes", { effect: "allow", when: async () => true }, true],
    ["when it says no", { effect: "allow", when: () => false }, false],
    ["other targets, whatever it says then", { effect: "allow", target: "mail", when: () => true }, false],
  ])("a rule about %s", async (_, rule, expected) => {
    expect(await decide([rule])).toBe(expected);
  });

  test("a rule about an agent to hire means all of its versions, or one", async () => {
    const hire = (target: string, version?: string) => request({ action: "hire", target, version });
    const rules: PermissionRule[] = [{ effect: "allow", target: ["writer@2", "reader"] }];
    const asked = [
      hire("writer", "2"),
      hire("writer", "1"),
      hire("writer"),
      hire("reader", "7"),
      hire("reader"),
    ];
    const allowed = await Promise.all(asked.map((each) => decide(rules, each)));
    expect(allowed).toEqual([true, false, false, true, true]);
  });

  test("what no rule is about is allowed only where that is said", async () => {
    const rules: PermissionRule[] = [{ effect: "deny", tenant: "acme", reason: "not for them" }];
    expect(await decide(rules)).toBe(false);
    const open = rulePermissions({ rules, otherwise: "allow" });
    expect(await open.check(request())).toEqual({ allow: true });
    expect(await open.check(request({ tenantId: "acme" }))).toEqual({ allow: false, reason: "not for them" });
  });

  test("a rule that denies wins, wherever it stands, and gives its reason", async () => {
    const permissions = rulePermissions({
      rules: [{ effect: "allow" }, { effect: "deny", target: "*.read", reason: "not today" }],
    });
    expect(await permissions.check(request())).toEqual({ allow: false, reason: "not today" });
    expect(await permissions.check(request({ target: "files.list" }))).toEqual({ allow: true });
    expect(await rulePermissions({ rules: [{ effect: "deny" }] }).check(request())).toEqual({
      allow: false,
      reason: "a rule forbids tool files.read",
    });
  });

  test.each<[string, PermissionRule["when"]]>([
    [
      "throws",
      () => {
        throw new Error("policy store is down");
      },
    ],
    ["rejects", () => Promise.reject(new Error("policy store is down"))],
    ["answers neither yes nor no", () => "yes" as never],
  ])("a rule that %s denies, whatever its effect and whatever else allows", async (_, when) => {
    for (const effect of ["allow", "deny"] as const) {
      const rules: PermissionRule[] = [{ effect, when }];
      if (effect === "deny") rules.push({ effect: "allow" });
      expect(await rulePermissions({ rules, otherwise: "allow" }).check(request())).toMatchObject({
        allow: false,
        reason: expect.stringContaining("a rule failed"),
      });
    }
  });

  describe("a rule about the arguments of a tool", () => {
    const tooMuch: PermissionRule["when"] = ({ arguments: given }) =>
      typeof given === "object" && given !== null && Number(Reflect.get(given, "usd")) > 50;
    const rules: readonly PermissionRule[] = [{ effect: "allow" }, { effect: "deny", when: tooMuch }];

    test.each([
      [{ usd: 80 }, false],
      [{ usd: 20 }, true],
      [{}, true],
    ])("of %j", async (given, isAllowed) => {
      expect(await decide(rules, request({ arguments: given }))).toBe(isAllowed);
    });
  });

  test("J4: it is a no-op only when it can deny nothing", () => {
    expect(rulePermissions({ rules: [], otherwise: "allow" }).isNoop).toBe(true);
    expect(rulePermissions({ rules: [] }).isNoop).toBe(false);
    expect(rulePermissions({ rules: [{ effect: "deny", target: "x" }], otherwise: "allow" }).isNoop).toBe(
      false,
    );
  });

  test.each([
    [{ rules: [{ effect: "allow", targets: "x" }] }, "rules[0].targets"],
    [{ rules: [{ effect: "permit" }] }, "rules[0].effect"],
    [{ rules: [{ effect: "allow", when: true }] }, "rules[0].when"],
    [{ rules: [{ effect: "deny", reason: 7 }] }, "rules[0].reason"],
    [{ rules: {} }, "rules"],
    [{ rules: [], default: "allow" }, "rulePermissions.default"],
  ])("%j is refused, because a misspelt rule would be a wider one", (options, field) => {
    expect(() => rulePermissions(options as never)).toThrow(field);
  });

  test("patterns: the same as an expression of them would say", () => {
    const letters = fc
      .array(fc.constantFrom("a", "b", "*", "."), { maxLength: 8 })
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(letters, letters, (pattern, text) => {
        const expression = new RegExp(
          `^${pattern.replaceAll(".", String.raw`\.`).replaceAll("*", ".*")}$`,
          "s",
        );
        expect(matches(pattern, text)).toBe(expression.test(text));
      }),
      { numRuns: RUNS },
    );
    // What stands before and after a star must not share letters of the text, nor may what stands between two.
    for (const [pattern, text] of [
      ["files.*.files", "files.files"],
      ["aba*aba", "ababa"],
      ["a*b*ba", "aba"],
      ["a*aa*a", "aaa"],
      ["*a*a*", "a"],
    ] as const)
      expect(matches(pattern, text), `${pattern} ${text}`).toBe(false);
    expect(matches(`${"a*".repeat(5_000)}b`, "a".repeat(100_000))).toBe(false);
  });
});
