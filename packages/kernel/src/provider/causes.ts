import { isError } from "../core/is-error.ts";
import { field } from "./json.ts";

/** Clients do not wrap errors deeper than this. */
const MAX_CAUSES = 8;

/** An error and its causes, the outermost first. */
export function causeChain(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let at = error; isError(at) && chain.length < MAX_CAUSES; at = at.cause) chain.push(at);
  return chain;
}

/** Whether a timer of the platform's `fetch` ran out. */
export function hasTimedOut(chain: readonly Error[]): boolean {
  return chain.some((error) => /^(?:UND_ERR_\w+_TIMEOUT|ETIMEDOUT)$/.test(String(field(error, "code"))));
}

/** Whether it ran out because the server was silent. That of Node waits for 300 s, and has no option for it. */
export function hasBeenSilent(chain: readonly Error[]): boolean {
  return chain.some((error) => /^UND_ERR_(?:HEADERS|BODY)_TIMEOUT$/.test(String(field(error, "code"))));
}

/**
 * Whether the error is a bug in a user's `fetch`. The platform's `fetch` reports a broken connection as a TypeError as well,
 * hence the look at the message.
 */
export function isMistake(error: Error): boolean {
  if (error instanceof ReferenceError || error instanceof RangeError) return true;
  return (
    error instanceof TypeError && /is not (?:a function|iterable)|cannot read propert/i.test(error.message)
  );
}

/** The innermost error code in brackets, to append to a message such as "Connection error.", which alone says nothing. */
export function innermostCode(chain: readonly Error[]): string {
  const codes = chain.map((error) => field(error, "code")).filter((code) => typeof code === "string");
  const code = codes.findLast((text) => /^\w{1,60}$/.test(text));
  return code === undefined ? "" : ` (${code})`;
}
