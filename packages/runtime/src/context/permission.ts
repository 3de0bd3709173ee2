import { type JsonValue, type MaybePromise, parseJson, type PermissionRequest } from "@ravi/kernel";
import { denialBy } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";
import { audit } from "./observe.ts";

/** Asks the permission policy; for a tool, with the text of its arguments. Returns why the action is not permitted; undefined if it is. */
export function denialOf(
  exec: Execution,
  action: PermissionRequest["action"],
  target: string,
  args?: string | undefined,
  version?: string | undefined,
): MaybePromise<string | undefined> {
  const { permissions } = exec.ports;
  if (permissions === undefined || permissions.isNoop === true) return undefined;
  const request: PermissionRequest = {
    agentId: exec.agentId,
    action,
    target,
    ...(version !== undefined && { version }),
    arguments: action === "tool" && args !== undefined ? dataOf(args) : args,
    scope: exec.scope,
  };
  return denialBy(permissions, request, (denial) => {
    const { target: shown, reason, message } = denial;
    audit(exec, { action, target: shown, outcome: "denied", details: { reason } });
    return message;
  });
}

/** A policy that denies by a field would find none in a text. It was read before, against the schema, so it is JSON. */
function dataOf(text: string): JsonValue {
  return text === "" ? {} : parseJson(text, "arguments");
}
