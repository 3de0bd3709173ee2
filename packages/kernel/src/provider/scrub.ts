import { secretForms, secretPatterns } from "../core/secrets.ts";

/** Removes secrets from a text. */
export type Scrub = (text: string) => string;

const REDACTED = "[redacted]";
/** Shorter secrets are not removed: they would match ordinary parts of a message. */
const SHORTEST_SECRET = 6;

const KEY_LIKE = secretPatterns(REDACTED);

/**
 * Makes a function that removes the given secrets, in each of their `secretForms` and any letter case, and everything else that
 * looks like one.
 */
export function scrubber(secrets: Iterable<string | null | undefined>): Scrub {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const plain = secret?.trim() ?? "";
    if (plain.length >= SHORTEST_SECRET) for (const form of secretForms(plain)) forms.add(lowered(form));
  }
  // The longest first: replacing a shorter secret that is part of a longer one would leave the rest of it.
  const known = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    let low = known.length === 0 ? "" : lowered(text);
    for (const form of known) {
      clean = without(clean, low, form);
      low = low.replaceAll(form, REDACTED);
    }
    for (const [pattern, replacement] of KEY_LIKE) clean = clean.replaceAll(pattern, replacement);
    return clean;
  };
}

/** Not by a regular expression of the secret: the engine refuses a long one with an error that shows it. */
function without(text: string, low: string, form: string): string {
  let clean = "";
  let from = 0;
  for (let at = low.indexOf(form); at !== -1; at = low.indexOf(form, from)) {
    clean += text.slice(from, at) + REDACTED;
    from = at + form.length;
  }
  return clean + text.slice(from);
}

/** In small letters, each as long as it was: of two letters, the small form is longer, or depends on what comes next. */
function lowered(text: string): string {
  return text.replaceAll("\u0130", "i").replaceAll("\u03A3", "\u03C3").toLowerCase();
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
