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

/** Asks the permission policy. Returns why the action is not permitted; undefined if it is. A policy that fails denies. */
export function denialOf(
  exec: Execution,
  action: PermissionRequest["action"],
  target: string,
  args?: JsonValue | undefined,
  version?: string | undefined,
): MaybePromise<string | undefined> {
  const { permissions } = exec.ports;
  if (permissions === undefined || permissions.isNoop) return undefined;
  const request: PermissionRequest = {
    agentId: exec.agentId,
    action,
    target,
    ...(version !== undefined && { version }),
    arguments: args,
    scope: exec.scope,
  };
  const shown = version === undefined ? target : `${target}@${version}`;
  const deny = (reason: string): string => {
    audit(exec, { action, target: shown, outcome: "denied", details: { reason } });
    return `${shown} is not permitted: ${reason}`;
  };
  const read = (decision: PermissionDecision): string | undefined => {
    // Only `true` permits, whatever a policy in plain JavaScript may return.
    const allow: unknown = decision.allow;
    if (allow === true) return undefined;
    return deny("reason" in decision ? decision.reason : "no reason was given");
  };
  const broken = (error: unknown): string => deny(`the policy failed (${messageOf(error)})`);
  try {
    const decision = permissions.check(request);
    // Converted to a real promise: the `then` of a custom thenable may return undefined, which would mean that it is permitted.
    return isPromiseLike(decision) ? Promise.resolve(decision).then(read, broken) : read(decision);
  } catch (error) {
    return broken(error);
  }
}
