import { secretForms, secretPatterns } from "../core/secrets.ts";

/** Removes secrets from a text. */
export type Scrub = (text: string) => string;

const REDACTED = "[redacted]";
/** Shorter secrets are not removed: they would match ordinary parts of a message. */
const SHORTEST_SECRET = 6;

const KEY_LIKE = secretPatterns(REDACTED);

/**
 * Makes a function that removes the given secrets, in every form and letter case in which they may be written, and everything else
 * that looks like one.
 */
export function scrubber(secrets: Iterable<string | null | undefined>): Scrub {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const plain = secret?.trim() ?? "";
    if (plain.length >= SHORTEST_SECRET) for (const form of secretForms(plain)) forms.add(form);
  }
  // The longest first: replacing a shorter secret that is part of a longer one would leave the rest of it.
  const known = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const form of known) clean = without(clean, form);
    for (const [pattern, replacement] of KEY_LIKE) clean = clean.replaceAll(pattern, replacement);
    return clean;
  };
}

/** Not by a regular expression of the secret: the engine refuses a long one with an error that shows it. */
function without(text: string, form: string): string {
  const within = lowered(text);
  const sought = lowered(form);
  let clean = "";
  let from = 0;
  for (let at = within.indexOf(sought); at !== -1; at = within.indexOf(sought, from)) {
    clean += text.slice(from, at) + REDACTED;
    from = at + sought.length;
  }
  return clean + text.slice(from);
}

/** In small letters, but of the same length, which other scripts do not keep. */
function lowered(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
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
