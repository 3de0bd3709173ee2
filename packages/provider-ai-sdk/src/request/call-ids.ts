import { plainId, uniqueIds } from "@ravi/kernel/provider";

/** An id that every provider takes: OpenAI refuses more than 40 characters, Anthropic all but letters, digits, `_` and `-`. */
const MAX_ID = 40;

/** The ids of calls as they are sent, none twice: some servers begin at `call_0` in each turn, and others refuse that. */
export interface CallIds {
  begin(id: string): string;
  /** What the latest call with this id is sent as. */
  latest(id: string): string;
}

/** The same conversation always gets the same, and what comes later changes nothing of what came before. */
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
