import {
  type AuditEntry,
  type AuditLog,
  type JsonObject,
  InvalidValueError,
  MiddlewareError,
} from "@ravi/kernel";
import { auditedFailure, messageOf } from "@ravi/kernel/loop";
import type { OnGuardError } from "../guard.ts";
import type { AnyContext } from "../types.ts";

/** What is recorded, and where. */
export interface AuditedCall {
  readonly layer: string;
  readonly log: AuditLog;
  readonly onError: OnGuardError;
  readonly context: AnyContext;
  readonly action: string;
  readonly target: string;
  readonly details: JsonObject;
}

/**
 * Records that something begins, runs it, and records how it ended. If the beginning cannot be recorded, it is not run; if the
 * end cannot be recorded, it counts as failed, unless `onError` is "allow".
 */
export async function withAudit(
  call: AuditedCall,
  run: () => Promise<void>,
  ended: () => Pick<AuditEntry, "outcome"> & { readonly details?: JsonObject },
): Promise<void> {
  const { context } = call;
  const began = context.clock.now();
  await write(call, "begin", { outcome: "ok" });
  try {
    await run();
  } catch (error) {
    const durationMs = millisecondsSince(context, began);
    const { outcome, details } = auditedFailure(error);
    await write(call, "end", { outcome, details: { ...details, durationMs } }, error);
    throw error;
  }
  const { outcome, details } = ended();
  const durationMs = millisecondsSince(context, began);
  await write(call, "end", { outcome, details: { ...details, durationMs } });
}

/** A clock may be set back meanwhile. */
function millisecondsSince({ clock }: AuditedCall["context"], began: number): number {
  return Math.max(0, clock.now() - began);
}

/** `failure` is that of the call. It is reported together with that of the log. */
async function write(
  call: AuditedCall,
  phase: "begin" | "end",
  { outcome, details }: Pick<AuditEntry, "outcome" | "details">,
  failure?: unknown,
): Promise<void> {
  const { context, log, target } = call;
  if (log.isNoop === true) return;
  const { runId, execId, tenantId } = context.meta;
  const userId = context.scope?.userId;
  const action = `${call.action}.${phase}`;
  try {
    await log.append({
      at: context.clock.now(),
      actor: context.agentName,
      action,
      target,
      outcome,
      details: {
        runId,
        execId,
        tenantId,
        ...(typeof userId === "string" && { userId }),
        ...call.details,
        ...details,
      },
    });
  } catch (error) {
    if (call.onError === "allow") return;
    const problem = `the audit log could not record ${action} of ${target} (${messageOf(error)}); to continue without a record, set onError to "allow"`;
    const cause = failure === undefined ? error : new AggregateError([failure, error]);
    throw new MiddlewareError({ layer: call.layer, problem, cause });
  }
}

export function checkAuditLog(field: string, log: AuditLog): AuditLog {
  if (typeof log?.append === "function") return log;
  throw new InvalidValueError({
    field,
    value: log,
    expected: "an AuditLog, such as the one from FileAuditLog.open()",
  });
}
