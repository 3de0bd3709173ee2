import type { JsonValue, PermissionRequest, Permissions, RunContext } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";

/** Why somebody may not do it; undefined when they may. Only a clear yes is one, and a policy that fails denies. */
export async function denialOf(
  permissions: Permissions,
  { agentId, scope }: RunContext,
  action: PermissionRequest["action"],
  target: string,
  args?: JsonValue | undefined,
): Promise<string | undefined> {
  try {
    const decision = await permissions.check({ agentId, action, target, arguments: args, scope });
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return `${target} is not permitted: ${"reason" in decision ? decision.reason : "no reason was given"}`;
  } catch (error) {
    return `${target} is not permitted: the policy failed (${messageOf(error)})`;
  }
}
