import type { PermissionRequest, Permissions, RunContext } from "@ravi/kernel";
import { abortable, messageOf } from "@ravi/kernel/loop";

/**
 * The reason why an action is denied; undefined if it is allowed. Only an explicit `allow: true` allows it, and a policy that fails denies.
 * A policy that does not answer blocks the run, but not its cancellation or deadline.
 */
export async function denialOf(
  permissions: Permissions,
  ctx: RunContext,
  asked: Pick<PermissionRequest, "action" | "target" | "version" | "arguments">,
): Promise<string | undefined> {
  const { agentId, scope, signal } = ctx;
  const { target } = asked;
  try {
    const decision = await abortable(permissions.check({ ...asked, agentId, scope }), signal);
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return `${target} is not permitted: ${"reason" in decision ? decision.reason : "no reason was given"}`;
  } catch (error) {
    // If the run was cancelled or is past its deadline, that error is thrown instead of a denial.
    if (signal.aborted) await ctx.check();
    return `${target} is not permitted: the policy failed (${messageOf(error)})`;
  }
}
