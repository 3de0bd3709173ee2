import { secretPatterns, secretRemover } from "../core/secrets.ts";

/** Removes secrets from a text. */
export type Scrub = (text: string) => string;

const REDACTED = "[redacted]";
/** Shorter secrets are not removed: they would match ordinary parts of a message. */
const SHORTEST_SECRET = 6;

const KEY_LIKE = secretPatterns(REDACTED);

/**
 * Makes a function that removes the given secrets, however they are written, and everything else that looks like one.
 */
export function scrubber(secrets: Iterable<string | null | undefined>): Scrub {
  const known = Array.from(secrets, (secret) => secret?.trim() ?? "");
  const clean = secretRemover(
    known.filter(({ length }) => length >= SHORTEST_SECRET),
    REDACTED,
  );
  return (text) => KEY_LIKE.reduce((so, [pattern, instead]) => so.replaceAll(pattern, instead), clean(text));
}

/** The values of headers that may be secret: each value and each word of it, since a scheme such as `Bearer` may come first. */
export function headerSecrets(headers: Readonly<Record<string, string>> | undefined): string[] {
  return Object.values(headers ?? {}).flatMap((value) => [value, ...value.split(/[\s,;=]+/)]);
}

/** The parts of a URL that may be secret. */
export function urlSecrets(
  url: { readonly search: string; readonly searchParams: { values(): Iterable<string> } } | undefined,
): string[] {
  return url === undefined ? [] : [url.search.slice(1), ...url.searchParams.values()];
}
