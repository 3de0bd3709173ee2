import { base64 } from "./base64.ts";

/** Takes secrets out of a text. */
export type Scrub = (text: string) => string;

const REDACTED = "[redacted]";
/** Shorter ones would take half of every message with them. */
const SHORTEST_SECRET = 6;

/** What looks like a key, whosever it is: servers quote what they were sent. Each pattern is linear. */
const KEY_LIKE: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|fw|nvapi|csk|tvly|key)[-_][\w-]{8,}/gi, REDACTED],
  [/\bAIza[\w-]{20,}/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${REDACTED}`],
  [/([?&](?:key|token|api[-_]?key|access[-_]?token|sig)=)[^&\s"']+/gi, `$1${REDACTED}`],
  [/\/\/[^\s/@]{1,256}@/g, `//${REDACTED}@`],
];

/** Takes the given secrets, however they were written, and everything that looks like one out of a text. */
export function scrubber(secrets: Iterable<string | null | undefined>): Scrub {
  const forms = new Set<string>();
  for (const secret of secrets) {
    const plain = secret?.trim() ?? "";
    if (plain.length >= SHORTEST_SECRET) for (const form of formsOf(plain)) forms.add(form);
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

/** A secret as it stands in a header, a URL, a JSON text or Basic authentication. */
function formsOf(secret: string): readonly string[] {
  const whole = secret.toWellFormed();
  return [
    secret,
    encodeURIComponent(whole),
    encodeURI(whole),
    JSON.stringify(secret).slice(1, -1),
    base64(whole),
  ];
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
