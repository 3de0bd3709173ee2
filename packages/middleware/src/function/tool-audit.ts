import { type AuditLog, checkBoolean, checkFields, type JsonValue } from "@ravi/kernel";
import { checkAuditLog, withAudit } from "../common/audit.ts";
import { checkOnError, type OnGuardError } from "../guard.ts";
import { asJson } from "../common/as-json.ts";
import type { FunctionMiddleware } from "../types.ts";

export interface ToolAuditOptions {
  readonly log: AuditLog;
  /** Whether the arguments are recorded too. Default: false, because they may be personal. */
  readonly recordArguments?: boolean | undefined;
  /** What happens if the log fails. Default ("block"): the tool is not run, or its call counts as failed. */
  readonly onError?: OnGuardError | undefined;
}

/** Records every tool call in an audit log: which agent, which tool, and how it ended. */
export function toolAudit(options: ToolAuditOptions): FunctionMiddleware {
  checkFields("toolAudit", options, ["log", "recordArguments", "onError"]);
  const log = checkAuditLog("toolAudit.log", options.log);
  const recordArguments = checkBoolean("toolAudit.recordArguments", options.recordArguments ?? false);
  const onError = checkOnError("toolAudit.onError", options.onError);
  return {
    level: "function",
    name: "toolAudit",
    process(context, next) {
      const args: { readonly arguments?: JsonValue } = recordArguments
        ? { arguments: asJson(context.arguments) }
        : {};
      const call = {
        layer: "toolAudit",
        log,
        onError,
        context,
        action: "tool",
        target: context.functionName,
        details: { callId: context.callId, ...args },
      };
      return withAudit(call, next, () => ({ outcome: context.result?.isError === false ? "ok" : "error" }));
    },
  };
}
