import { deepFreeze, type JsonObject } from "../core/json.ts";

/** The same for all runs of which nothing is said. */
const NOTHING: JsonObject = Object.freeze({});

/**
 * A run's own copy of what its caller says of it, frozen, and as a resumed run reads it: what the caller holds stays as it is. What
 * cannot be written down is refused by a journal, where there is one.
 */
export function ownMetadata(metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? NOTHING : deepFreeze(copyOf(metadata));
}

function copyOf(metadata: JsonObject): JsonObject {
  try {
    return JSON.parse(JSON.stringify(metadata)) as JsonObject;
  } catch {
    return { ...metadata };
  }
}
