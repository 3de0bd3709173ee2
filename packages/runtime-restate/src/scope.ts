import type { RunScope, Supervision } from "@ravi/kernel";
import { ownMetadata } from "@ravi/kernel/loop";
import type { Launch } from "./root/messages.ts";

/** The scope of the run that an execution belongs to. */
export function scopeOfRun(
  { userId, tenantId, metadata }: Launch,
  { sessionId, runId }: Supervision,
): RunScope {
  return Object.freeze({ userId, tenantId, sessionId, runId, metadata: ownMetadata(metadata) });
}
