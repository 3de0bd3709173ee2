import { uniqueIds } from "@ravi/kernel/provider";

/** Makes ids and names valid for the API. Those of other providers, or invented by a model, may be anything. */

const LONGEST = 64;

/**
 * Gives each call of a conversation a valid and unique id. The same conversation always gets the same ids, and later messages do
 * not change earlier ids, so the server's cache finds it again.
 */
export function callIds(): (id: string) => string {
  const ids = uniqueIds(LONGEST);
  return (id) => ids.give(fitting(id) || "call");
}

/** A valid name for a tool. */
export function toolName(name: string): string {
  return fitting(name) || "unnamed_tool";
}

function fitting(text: string): string {
  return text.replaceAll(/[^\w-]/g, "_").slice(0, LONGEST);
}
