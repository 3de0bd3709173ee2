import {
  CancellationError,
  type JsonValue,
  type PermissionRequest,
  type Permissions,
  type RunContext,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";

/**
 * Why somebody may not do it; undefined when they may. Only a clear yes is one, and a policy that fails denies. One that does
 * not answer holds up its run, but not the end of it.
 */
export async function denialOf(
  permissions: Permissions,
  ctx: RunContext,
  action: PermissionRequest["action"],
  target: string,
  args?: JsonValue | undefined,
): Promise<string | undefined> {
  const { agentId, scope, signal } = ctx;
  try {
    const decision = await beforeEnd(
      signal,
      Promise.resolve(permissions.check({ agentId, action, target, arguments: args, scope })),
    );
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return `${target} is not permitted: ${"reason" in decision ? decision.reason : "no reason was given"}`;
  } catch (error) {
    // Cancelled, or late: that is what is told then, and not a denial.
    if (signal.aborted) await ctx.check();
    return `${target} is not permitted: the policy failed (${messageOf(error)})`;
  }
}

/** Waits for somebody outside, and no longer than the run lives. */
async function beforeEnd<R>(signal: RunContext["signal"], waiting: Promise<R>): Promise<R> {
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
