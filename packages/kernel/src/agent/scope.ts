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
