import { deepFreeze, type JsonObject } from "../core/json.ts";

/** Shared by all runs without metadata. */
const NOTHING: JsonObject = Object.freeze({});

/**
 * A frozen copy of a run's metadata, as a resumed run would read it, so that the caller's object stays unchanged. `run` refuses
 * metadata that is not plain JSON. In a bare context, which has no record, what cannot be written is passed on as a shallow copy.
 */
export function ownMetadata(metadata: JsonObject | undefined): JsonObject {
  if (metadata === undefined) return NOTHING;
  if (isFlatAndFrozen(metadata)) return metadata;
  let copy: JsonObject;
  try {
    copy = JSON.parse(JSON.stringify(metadata)) as JsonObject;
  } catch {
    return Object.freeze({ ...metadata });
  }
  return deepFreeze(copy);
}

/** Whether it is its own frozen copy: it has texts and the like only, and nobody can change it. */
function isFlatAndFrozen(metadata: JsonObject): boolean {
  if (!Object.isFrozen(metadata) || Object.getPrototypeOf(metadata) !== Object.prototype) return false;
  for (const name in metadata) {
    // A getter has no value here: it may give another one each time.
    const value: unknown = Object.getOwnPropertyDescriptor(metadata, name)?.value;
    if (typeof value !== "string" && typeof value !== "boolean" && value !== null) return false;
  }
  return true;
}
