import {
  agentName,
  checkFields,
  InvalidValueError,
  type MaybePromise,
  type PermissionDecision,
  type PermissionRequest,
  type Permissions,
} from "@ravi/kernel";
import { checkPort, messageOf } from "@ravi/kernel/loop";
import { checkText, checkWord } from "../common/options.ts";
import { matches } from "./pattern.ts";

/** One rule. A field that is left out does not restrict it: a rule with only an effect applies to everything. */
export interface PermissionRule {
  readonly effect: "allow" | "deny";
  readonly action?: PermissionRequest["action"] | readonly PermissionRequest["action"][] | undefined;
  /**
   * The tool by its name, the agent to hire by its name or as `name@version`, or the model by its id (`openai/gpt-5-mini`) or as the sdk
   * names it (`openai:gpt-5-mini`); `*` stands for any characters.
   */
  readonly target?: string | readonly string[] | undefined;
  /** The agent that asks, by name: `researcher`, `team-*`. */
  readonly agent?: string | readonly string[] | undefined;
  /** The user of the run; null for a run without a user. */
  readonly user?: string | null | readonly (string | null)[] | undefined;
  /** The tenant of the run; null for a run without one. */
  readonly tenant?: string | null | readonly (string | null)[] | undefined;
  /**
   * A condition that the fields cannot express. If it throws, or returns anything but true or false, the request is denied,
   * whatever the rule's effect.
   */
  readonly when?: ((request: PermissionRequest) => MaybePromise<boolean>) | undefined;
  /** The reason that a denied request gets. */
  readonly reason?: string | undefined;
}

export interface RulePermissionsOptions {
  readonly rules: readonly PermissionRule[];
  /** What happens if no rule matches. Default: "deny". */
  readonly otherwise?: "allow" | "deny" | undefined;
}

const ACTIONS = ["llm", "tool", "hire"] as const satisfies readonly PermissionRequest["action"][];
const EFFECTS = ["allow", "deny"] as const satisfies readonly PermissionRule["effect"][];
const RULE_FIELDS = [
  "effect",
  "action",
  "target",
  "agent",
  "user",
  "tenant",
  "when",
  "reason",
] as const satisfies readonly (keyof PermissionRule)[];

/**
 * Permissions by rules. A matching rule that denies wins over all that allow. What no rule allows is denied (see `otherwise`),
 * and so is a request for which a rule fails.
 */
export function rulePermissions(options: RulePermissionsOptions): Permissions {
  checkFields("rulePermissions", options, ["rules", "otherwise"]);
  const otherwise = checkWord("rulePermissions.otherwise", options.otherwise ?? "deny", EFFECTS);
  const given: unknown = options.rules;
  if (!Array.isArray(given))
    throw new InvalidValueError({
      field: "rulePermissions.rules",
      value: given,
      expected: "an array of rules",
    });
  const rules = options.rules.map(checkRule);
  const denying = rules.filter(({ effect }) => effect === "deny");
  const allowing = rules.filter(({ effect }) => effect === "allow");
  return Object.freeze({
    isNoop: rules.length === 0 && otherwise === "allow",
    async check(request: PermissionRequest): Promise<PermissionDecision> {
      try {
        for (const rule of denying)
          if (await appliesTo(rule, request))
            return deny(rule.reason ?? `a rule forbids ${request.action} ${request.target}`);
        for (const rule of allowing) if (await appliesTo(rule, request)) return { allow: true };
      } catch (error) {
        return deny(`a rule failed (${messageOf(error)})`);
      }
      return otherwise === "allow"
        ? { allow: true }
        : deny(`no rule allows ${request.action} ${request.target}`);
    },
  });
}

async function appliesTo(rule: PermissionRule, request: PermissionRequest): Promise<boolean> {
  const { agentId, action, scope } = request;
  const isMatch =
    isOneOf(rule.action, action) &&
    (rule.target === undefined || listOf(rule.target).some((pattern) => isTarget(pattern, request))) &&
    (rule.agent === undefined ||
      listOf(rule.agent).some((pattern) => matches(pattern, agentName(agentId)))) &&
    isOneOf(rule.user, scope.userId) &&
    isOneOf(rule.tenant, scope.tenantId);
  if (!isMatch || rule.when === undefined) return isMatch;
  const answer: unknown = await rule.when(request);
  // An answer that is neither true nor false is an error: nothing is allowed by accident.
  if (typeof answer === "boolean") return answer;
  throw new InvalidValueError({ field: "when", value: answer, expected: "true or false" });
}

/** An agent is meant by its name, in all versions, or by `name@version`; a model by its id, or as it is given to `agent` of the sdk. */
function isTarget(pattern: string, { action, target, version }: PermissionRequest): boolean {
  return (
    matches(pattern, target) ||
    (version !== undefined && matches(pattern, `${target}@${version}`)) ||
    (action === "llm" && matches(pattern, target.replace("/", ":")))
  );
}

function isOneOf<T>(allowed: T | readonly T[] | undefined, value: T): boolean {
  return allowed === undefined || listOf(allowed).includes(value);
}

function listOf<T>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

function deny(reason: string): PermissionDecision {
  return { allow: false, reason };
}

/** A misspelt field would make a rule apply to more than intended, and a misspelt value would make a rule that denies nothing. */
function checkRule(rule: PermissionRule, at: number): PermissionRule {
  const field = `rulePermissions.rules[${at}]`;
  checkFields(field, rule, RULE_FIELDS);
  checkWord(`${field}.effect`, rule.effect, EFFECTS);
  const { action, target, agent, user, tenant, when, reason } = rule;
  const isText = (value: unknown): boolean => typeof value === "string";
  const isName = (value: unknown): boolean => value === null || isText(value);
  const isAction = (value: unknown): boolean => ACTIONS.some((known) => known === value);
  if (when !== undefined)
    checkPort(`${field}.when`, when, "a function that takes the request and returns true or false");
  checkText(`${field}.reason`, reason);
  return Object.freeze({
    ...rule,
    action: checkList(`${field}.action`, action, isAction, `one of ${ACTIONS.join(", ")}`),
    target: checkList(`${field}.target`, target, isText, "a string"),
    agent: checkList(`${field}.agent`, agent, isText, "a string"),
    user: checkList(`${field}.user`, user, isName, "a string, or null for a run without a user"),
    tenant: checkList(`${field}.tenant`, tenant, isName, "a string, or null for a run without a tenant"),
  });
}

/**
 * A copy, so that later changes to the given list do not change the rule. An empty list is refused, because it would match
 * nothing.
 */
function checkList<T>(
  field: string,
  value: T | readonly T[] | undefined,
  isValid: (one: unknown) => boolean,
  expected: string,
): readonly T[] | undefined {
  if (value === undefined) return undefined;
  const list = Object.freeze([...listOf(value)]);
  if (list.length > 0 && list.every(isValid)) return list;
  throw new InvalidValueError({ field, value, expected: `${expected}, or a non-empty array of these` });
}
