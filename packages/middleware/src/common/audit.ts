import {
  type AuditEntry,
  type AuditLog,
  type JsonObject,
  InvalidValueError,
  isRaviError,
  MiddlewareError,
} from "@ravi/kernel";
import { isStop, messageOf } from "@ravi/kernel/loop";
import type { AnyContext, OnGuardError } from "../guard.ts";

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
  await write(call, "begin", "ok", {});
  try {
    await run();
  } catch (error) {
    const how = { error: messageOf(error), code: isRaviError(error) ? error.code : undefined };
    try {
      await write(call, "end", isStop(error) ? "denied" : "error", {
        ...how,
        durationMs: millisecondsSince(context, began),
      });
    } catch (cause) {
      // Both errors are reported: the run's says more, and the log's must not be lost.
      throw new MiddlewareError({
        layer: call.layer,
        problem: messageOf(cause),
        cause: new AggregateError([error, cause]),
      });
    }
    throw error;
  }
  const { outcome, details } = ended();
  await write(call, "end", outcome, { ...details, durationMs: millisecondsSince(context, began) });
}

/** A clock may be set back meanwhile. */
function millisecondsSince({ clock }: AuditedCall["context"], began: number): number {
  return Math.max(0, clock.now() - began);
}

async function write(
  call: AuditedCall,
  phase: "begin" | "end",
  outcome: AuditEntry["outcome"],
  more: JsonObject,
): Promise<void> {
  const { context, log } = call;
  if (log.isNoop) return;
  const { meta } = context;
  const entry: AuditEntry = {
    at: context.clock.now(),
    actor: context.agentName,
    action: `${call.action}.${phase}`,
    target: call.target,
    outcome,
    details: { runId: meta.runId, execId: meta.execId, tenantId: meta.tenantId, ...call.details, ...more },
  };
  try {
    await log.append(entry);
  } catch (cause) {
    if (call.onError === "allow") return;
    const problem = `the audit log could not record ${entry.action} of ${call.target} (${messageOf(cause)}); to continue without a record, set onError to "allow"`;
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
