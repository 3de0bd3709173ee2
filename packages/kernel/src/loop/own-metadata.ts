import { deepFreeze, type JsonObject } from "../core/json.ts";

/** The same for all runs of which nothing is said. */
const NOTHING: JsonObject = Object.freeze({});

/**
 * A run's own copy of what its caller says of it, frozen, and as a resumed run reads it: what the caller holds stays as it is. What
 * cannot be written down is refused by a journal, where there is one; elsewhere it is handed on, and only its list is the run's own.
 */
export function ownMetadata(metadata: JsonObject | undefined): JsonObject {
  if (metadata === undefined) return NOTHING;
  let copy: JsonObject;
  try {
    copy = JSON.parse(JSON.stringify(metadata)) as JsonObject;
  } catch {
    return Object.freeze({ ...metadata });
  }
  return deepFreeze(copy);
}
