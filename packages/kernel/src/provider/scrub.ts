import { secretForms, secretPatterns } from "../core/secrets.ts";

/** Takes secrets out of a text. */
export type Scrub = (text: string) => string;

const REDACTED = "[redacted]";
/** Shorter ones would take half of every message with them. */
const SHORTEST_SECRET = 6;

const KEY_LIKE = secretPatterns(REDACTED);

/** Takes the given secrets, however they were written, and everything that looks like one out of a text. */
export function scrubber(secrets: Iterable<string | null | undefined>): Scrub {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const plain = secret?.trim() ?? "";
    if (plain.length >= SHORTEST_SECRET) for (const form of secretForms(plain)) forms.add(form);
  }
  // A longer one first, so that a shorter one inside it does not leave its rest behind.
  const known = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const form of known) clean = clean.replaceAll(form, REDACTED);
    for (const [pattern, replacement] of KEY_LIKE) clean = clean.replaceAll(pattern, replacement);
    return clean;
  };
}

/** What headers may hide: each value, and each word of it, since a scheme such as `Bearer` comes first. */
export function headerSecrets(headers: Readonly<Record<string, string>> | undefined): string[] {
  return Object.values(headers ?? {}).flatMap((value) => [value, ...value.split(/[\s,;=]+/)]);
}

/** What a `URL` may carry as a secret. */
export function urlSecrets(
  url: { readonly search: string; readonly searchParams: { values(): Iterable<string> } } | undefined,
): string[] {
  return url === undefined ? [] : [url.search.slice(1), ...url.searchParams.values()];
}
