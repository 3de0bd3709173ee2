import {
  type AuditEntry,
  type AuditLog,
  type JsonObject,
  InvalidValueError,
  isRaviError,
  MiddlewareError,
} from "@ravi/kernel";
import { isStop, messageOf } from "@ravi/kernel/loop";
import type { AnyContext, OnGuardError } from "./guard.ts";

/** What is recorded, and where. */
export interface Audited {
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
export async function audited(
  about: Audited,
  run: () => Promise<void>,
  ended: () => Pick<AuditEntry, "outcome"> & { readonly details?: JsonObject },
): Promise<void> {
  const { context } = about;
  const began = context.clock.now();
  await write(about, "begin", "ok", {});
  try {
    await run();
  } catch (error) {
    const how = { error: messageOf(error), code: isRaviError(error) ? error.code : undefined };
    try {
      await write(about, "end", isStop(error) ? "denied" : "error", {
        ...how,
        durationMs: context.clock.now() - began,
      });
    } catch (cause) {
      // Both errors are reported: the run's says more, and the log's must not be lost.
      throw new MiddlewareError({
        layer: about.layer,
        problem: messageOf(cause),
        cause: new AggregateError([error, cause]),
      });
    }
    throw error;
  }
  const { outcome, details } = ended();
  await write(about, "end", outcome, { ...details, durationMs: context.clock.now() - began });
}

async function write(
  about: Audited,
  phase: "begin" | "end",
  outcome: AuditEntry["outcome"],
  more: JsonObject,
): Promise<void> {
  const { context, log } = about;
  if (log.isNoop) return;
  const { meta } = context;
  const entry: AuditEntry = {
    at: context.clock.now(),
    actor: context.agentName,
    action: `${about.action}.${phase}`,
    target: about.target,
    outcome,
    details: { runId: meta.runId, execId: meta.execId, tenantId: meta.tenantId, ...about.details, ...more },
  };
  try {
    await log.append(entry);
  } catch (cause) {
    if (about.onError === "allow") return;
    const problem = `the audit log did not take ${entry.action} of ${about.target} (${messageOf(cause)}); what is not written down may not happen`;
    throw new MiddlewareError({ layer: about.layer, problem, cause });
  }
}

export function checkAuditLog(field: string, log: AuditLog): AuditLog {
  if (typeof log?.append === "function") return log;
  throw new InvalidValueError({ field, value: log, expected: "an AuditLog" });
}
