import {
  isPromiseLike,
  type JsonValue,
  type MaybePromise,
  type PermissionDecision,
  type PermissionRequest,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";
import { audit } from "./observe.ts";

/** Why somebody may not do it; undefined when they may. A policy that fails denies. */
export function denialOf(
  exec: Execution,
  action: PermissionRequest["action"],
  target: string,
  args?: JsonValue | undefined,
): MaybePromise<string | undefined> {
  const { permissions } = exec.ports;
  if (permissions === undefined || permissions.isNoop) return undefined;
  const request: PermissionRequest = {
    agentId: exec.agentId,
    action,
    target,
    arguments: args,
    scope: exec.scope,
  };
  const deny = (reason: string): string => {
    audit(exec, { action, target, outcome: "denied", details: { reason } });
    return `${target} is not permitted: ${reason}`;
  };
  const read = (decision: PermissionDecision): string | undefined => {
    // Only a clear yes is one, whatever a policy without types may return.
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return deny("reason" in decision ? decision.reason : "no reason was given");
  };
  const broken = (error: unknown): string => deny(`the policy failed (${messageOf(error)})`);
  try {
    const decision = permissions.check(request);
    // A thenable of somebody's own may give nothing back from its `then`: nothing would be a yes.
    return isPromiseLike(decision) ? Promise.resolve(decision).then(read, broken) : read(decision);
  } catch (error) {
    return broken(error);
  }
}
