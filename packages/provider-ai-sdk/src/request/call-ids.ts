import { plainId, uniqueIds } from "@ravi/kernel/provider";

/**
 * The length that every provider accepts: OpenAI refuses more than 40 characters. Anthropic accepts only letters, digits, `_` and
 * `-`.
 */
const MAX_ID = 40;

/**
 * The ids of calls as they are sent. They are unique, since some servers start again at `call_0` in each turn, and others refuse
 * that.
 */
export interface CallIds {
  /** The id to send for a new call. */
  begin(id: string): string;
  /** The id that the latest call with this id was sent with. */
  latest(id: string): string;
}

/** The same conversation always gets the same ids, and later messages do not change earlier ids. */
export function callIds(): CallIds {
  const ids = uniqueIds(MAX_ID);
  const sent = new Map<string, string>();
  return {
    begin(id) {
      const given = ids.give(plainId(id, MAX_ID));
      sent.set(id, given);
      return given;
    },
    latest: (id) => sent.get(id) ?? plainId(id, MAX_ID),
  };
}
