import { field } from "./json.ts";

/** Deeper than clients wrap what happened. */
const MOST_CAUSES = 8;

/** An error and what caused it, the outermost first. */
export function causeChain(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && chain.length < MOST_CAUSES; at = at.cause) chain.push(at);
  return chain;
}

/** The timers of the platform's own `fetch` ran out. */
export function hasTimedOut(chain: readonly Error[]): boolean {
  return chain.some((error) => /^(?:UND_ERR_\w+_TIMEOUT|ETIMEDOUT)$/.test(String(field(error, "code"))));
}

/** A bug in a `fetch` that was given; those of the platform report a broken connection as a TypeError too. */
export function isMistake(error: Error): boolean {
  if (error instanceof ReferenceError || error instanceof RangeError) return true;
  return (
    error instanceof TypeError && /is not (?:a function|iterable)|cannot read propert/i.test(error.message)
  );
}

/** "Connection error." says nothing; the code at the bottom of it does. To be put behind it. */
export function innermostCode(chain: readonly Error[]): string {
  const codes = chain.map((error) => field(error, "code")).filter((code) => typeof code === "string");
  const code = codes.findLast((text) => /^\w{1,60}$/.test(text));
  return code === undefined ? "" : ` (${code})`;
}
