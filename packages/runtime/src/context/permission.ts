import {
  isPromiseLike,
  type JsonValue,
  type MaybePromise,
  type PermissionDecision,
  type PermissionRequest,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";

/** Why somebody may not do it; undefined when they may. A policy that fails denies. */
export function denialOf(
  exec: Execution,
  action: PermissionRequest["action"],
  target: string,
  args?: JsonValue | undefined,
): MaybePromise<string | undefined> {
  const { permissions } = exec.tree.ports;
  if (permissions === undefined || permissions.isNoop) return undefined;
  const request: PermissionRequest = {
    agentId: exec.agentId,
    action,
    target,
    arguments: args,
    scope: exec.scope,
  };
  const read = (decision: PermissionDecision): string | undefined => {
    // Only a clear yes is one, whatever a policy without types may return.
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return `${target} is not permitted: ${"reason" in decision ? decision.reason : "no reason was given"}`;
  };
  const broken = (error: unknown): string =>
    `${target} is not permitted: the policy failed (${messageOf(error)})`;
  try {
    const decision = permissions.check(request);
    return isPromiseLike(decision) ? decision.then(read, broken) : read(decision);
  } catch (error) {
    return broken(error);
  }
}
