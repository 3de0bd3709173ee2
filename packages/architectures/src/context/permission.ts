import { CancellationError, type PermissionRequest, type Permissions, type RunContext } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";

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
    const decision = await orAborted(
      signal,
      Promise.resolve(permissions.check({ ...asked, agentId, scope })),
    );
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return `${target} is not permitted: ${"reason" in decision ? decision.reason : "no reason was given"}`;
  } catch (error) {
    // If the run was cancelled or is past its deadline, that error is thrown instead of a denial.
    if (signal.aborted) await ctx.check();
    return `${target} is not permitted: the policy failed (${messageOf(error)})`;
  }
}

/** Waits for a promise, but no longer than until the run ends. */
async function orAborted<R>(signal: RunContext["signal"], waiting: Promise<R>): Promise<R> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = (): void => reject(new CancellationError({ reason: "the run has ended" }));
  if (signal.aborted) end();
  else signal.addEventListener("abort", end);
  try {
    return await Promise.race([waiting, promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}
