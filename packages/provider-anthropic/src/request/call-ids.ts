import { plainName, uniqueIds } from "@ravi/kernel/provider";

const LONGEST = 64;

/**
 * Gives each call of a conversation a valid and unique id. The same conversation always gets the same ids, and later messages do
 * not change earlier ids, so the server's cache finds it again.
 */
export function callIds(): (id: string) => string {
  const ids = uniqueIds(LONGEST);
  return (id) => ids.give(plainName(id, "call"));
}
