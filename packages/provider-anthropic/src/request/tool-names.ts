import { uniqueIds } from "@ravi/kernel/provider";

/** Ids and names as the API takes them. Those of other providers, and of models that made them up, may be anything. */

const LONGEST = 64;

/**
 * Gives each call of a conversation an id that fits and that no other call has. The same conversation always gets the same,
 * and what comes later changes nothing of what came before, so that the server's cache finds it again.
 */
export function callIds(): (id: string) => string {
  const ids = uniqueIds(LONGEST);
  return (id) => ids.give(fitting(id) || "call");
}

export function toolName(name: string): string {
  return fitting(name) || "unnamed_tool";
}

function fitting(text: string): string {
  return text.replaceAll(/[^\w-]/g, "_").slice(0, LONGEST);
}
