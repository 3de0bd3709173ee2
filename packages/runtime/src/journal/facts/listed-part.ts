import type { JournalEntry, JsonObject } from "@ravi/kernel";
import { listedError } from "@ravi/kernel/loop";
import { isKey, RUN_START, RUN_STATUS, RUN_WAITS } from "./run-facts.ts";

/** The part of a note that `list` needs, for a store that keeps large bodies elsewhere. */
export function listedPart({ key, phase, body }: JournalEntry): JsonObject {
  const { agent, tenantId, userId, supervision, status, waits, keys, over, heard } = body;
  if (phase !== "note") return {};
  if (isKey(key, RUN_START)) return { agent, tenantId, userId, supervision };
  if (isKey(key, RUN_WAITS)) return { waits, keys, over, heard };
  return isKey(key, RUN_STATUS) ? { status, error: listedError(body["error"]) } : {};
}
