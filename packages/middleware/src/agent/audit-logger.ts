import { type AuditLog, checkBoolean, checkFields } from "@ravi/kernel";
import { checkAuditLog, withAudit } from "../common/audit.ts";
import { checkOnError, type OnGuardError } from "../guard.ts";
import type { AgentMiddleware } from "../types.ts";

export interface AuditLoggerOptions {
  readonly log: AuditLog;
  /** Whether input and output are recorded too. Default: false, because they may be personal. */
  readonly recordContent?: boolean | undefined;
  /** What happens if the log fails. Default ("block"): the run does not begin, or counts as failed. */
  readonly onError?: OnGuardError | undefined;
}

/** Records every run in an audit log: which agent, for which tenant and session, and how it ended. */
export function auditLogger(options: AuditLoggerOptions): AgentMiddleware {
  checkFields("auditLogger", options, ["log", "recordContent", "onError"]);
  const log = checkAuditLog("auditLogger.log", options.log);
  const recordContent = checkBoolean("auditLogger.recordContent", options.recordContent ?? false);
  const onError = checkOnError("auditLogger.onError", options.onError);
  return {
    level: "agent",
    name: "auditLogger",
    process(context, next) {
      const content = recordContent ? { input: context.input } : {};
      const call = {
        layer: "auditLogger",
        log,
        onError,
        context,
        action: "run",
        target: context.agentName,
        details: { sessionId: context.sessionId, ...content },
      };
      return withAudit(call, next, () => {
        const { result } = context;
        if (result === undefined) return { outcome: "error" };
        return { outcome: "ok", details: recordContent ? { output: result.output } : {} };
      });
    },
  };
}
