import { type AuditEntry, isPromiseLike, type JsonObject, type Span, type SpanContent } from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { logOf } from "../run/run-log.ts";
import type { Execution } from "./execution.ts";

// Telemetry and the audit log observe a run and cannot change it: if one of them fails, that is logged and the run goes on.

/** Whether there is telemetry. Ask first, so that attributes are built only if somebody gets them. */
export function isMeasured({ ports }: Execution): boolean {
  return ports.telemetry !== undefined && ports.telemetry.isNoop !== true;
}

/** Whether there is an audit log. */
export function isAudited({ ports }: Execution): boolean {
  return ports.auditLog !== undefined && ports.auditLog.isNoop !== true;
}

/** The spans of each agent that have not ended. Not a field of the execution, because most have no telemetry. */
const openSpans = new WeakMap<Execution, Set<Span>>();

/** Starts a span around a piece of work. Returns undefined if there is no telemetry, or if it fails. */
export function startSpan(
  exec: Execution,
  name: string,
  attributes: JsonObject,
  parent: Span | undefined,
): Span | undefined {
  const { telemetry } = exec.ports;
  if (telemetry === undefined || telemetry.isNoop === true) return undefined;
  const { agentId, execId, supervision } = exec;
  try {
    const { runId, sessionId } = supervision;
    const all = { runId, execId, agentId, sessionId, ...whom(exec), ...attributes };
    const span = telemetry.startSpan(name, all, parent);
    const open = openSpans.get(exec);
    if (open === undefined) openSpans.set(exec, new Set([span]));
    else open.add(span);
    return span;
  } catch (error) {
    logFailure(exec, "telemetry", error);
    return undefined;
  }
}

/**
 * Calls `work` inside of the span, so that what others measure there, such as HTTP requests, belongs to it. `work` is called exactly once,
 * and what it returns or throws counts, whatever the span does.
 */
export function within<T>(exec: Execution, span: Span, work: () => T): T {
  if (span.run === undefined) return work();
  let settled: (() => T) | undefined;
  const once = (): (() => T) => (settled ??= settle(work));
  tellSpan(exec, () => span.run?.(once));
  return once()();
}

function settle<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Gives the span what the work was given or has made, if anybody wants it. */
export function addContent(exec: Execution, span: Span | undefined, contentOf: () => SpanContent): void {
  if (span?.addContent !== undefined && openSpans.get(exec)?.has(span) === true)
    tellSpan(exec, () => span.addContent?.(contentOf()));
}

/** What is known about a piece of work at its end only. Null and undefined values are left out. */
type EndAttributes = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Ends a span, if there is one, and records the error in it. */
export function endSpan(
  exec: Execution,
  span: Span | undefined,
  error?: unknown,
  attributes: EndAttributes = {},
): void {
  if (span === undefined) return;
  const wasOpen = openSpans.get(exec)?.delete(span);
  // It was ended together with its agent.
  if (exec.isOver && wasOpen !== true) return;
  tellSpan(exec, () => {
    for (const [key, value] of Object.entries(attributes))
      if (value !== undefined && value !== null) span.setAttribute(key, value);
    if (error !== undefined) span.recordError(error);
  });
  tellSpan(exec, () => span.end());
}

/** Ends what is open when an agent has ended: a call that does not stop may never end, and its span would never be seen. */
export function endOpenSpans(exec: Execution, why: () => Error): void {
  for (const span of [...(openSpans.get(exec) ?? [])].toReversed()) endSpan(exec, span, why());
}

function tellSpan(exec: Execution, tell: () => unknown): void {
  try {
    const told = tell();
    // One in plain JavaScript may be asynchronous.
    if (isPromiseLike(told))
      told.then(undefined, (failure: unknown) => logFailure(exec, "telemetry", failure));
  } catch (failure) {
    logFailure(exec, "telemetry", failure);
  }
}

/** Adds an entry to the audit log. A `key` in the details identifies the call, because a replay may report the same one again. */
export function audit(exec: Execution, entry: Omit<AuditEntry, "at" | "actor">): void {
  const { auditLog, clock } = exec.ports;
  if (auditLog === undefined || auditLog.isNoop === true) return;
  const details = { runId: exec.supervision.runId, execId: exec.execId, ...whom(exec), ...entry.details };
  try {
    const written = auditLog.append({ at: clock.now(), actor: exec.agentId, ...entry, details });
    if (!isPromiseLike(written)) return;
    const kept = Promise.resolve(written).catch((error: unknown) => logFailure(exec, "the audit log", error));
    const audits = (exec.audits ??= new Set());
    audits.add(kept);
    void kept.finally(() => audits.delete(kept));
  } catch (error) {
    logFailure(exec, "the audit log", error);
  }
}

/** The customer and the user that the run works for, if they were named: whoever adds up costs needs them at each call. */
function whom({ scope: { tenantId, userId } }: Execution): JsonObject {
  return { ...(tenantId !== null && { tenantId }), ...(userId !== null && { userId }) };
}

function logFailure(exec: Execution, what: string, error: unknown): void {
  logOf(exec, "error", `${what} failed; the run continues without it`, {
    error: messageOf(error),
  });
}
