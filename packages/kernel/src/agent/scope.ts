import type { RunId, SessionId } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";

/** For whom a run works. `userId` is a hard partition of memory; none is a partition of its own. Frozen. */
export interface RunScope {
  readonly userId: string | null;
  readonly tenantId: string | null;
  readonly sessionId: SessionId;
  readonly runId: RunId;
  readonly metadata: JsonObject;
}

/** The scope of somebody who works for this run: the same user and run, and a conversation of its own. */
export function scopeForWorker(scope: RunScope, worker: string): RunScope {
  // Whatever its length: a session id of the user's own may be as long as one can be.
  return Object.freeze({ ...scope, sessionId: `${scope.sessionId}/${worker}` as SessionId });
}
