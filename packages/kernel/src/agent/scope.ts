import type { RunId, SessionId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";

/** Whom a run works for. Frozen. Memory is separate for each `userId`; null is a partition of its own. */
export interface RunScope {
  readonly userId: string | null;
  readonly tenantId: string | null;
  readonly sessionId: SessionId;
  readonly runId: RunId;
  readonly metadata: JsonObject;
}

/** The scope of an agent hired in this run: the same user and run, with a session of its own. */
export function scopeForWorker(scope: RunScope, worker: string): RunScope {
  // Not checked by `SessionId()`: the user's own id may already have the maximal length.
  return Object.freeze({ ...scope, sessionId: `${scope.sessionId}/${worker}` as SessionId });
}
