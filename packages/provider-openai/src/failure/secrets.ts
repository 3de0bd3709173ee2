export type Scrub = (text: string) => string;

const REDACTED = "[redacted]";
/** Shorter ones would take half of every message with them. */
const MIN_SECRET = 6;

/** What looks like a key, whosever it is: servers quote what they were sent. Each pattern is linear. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sk|pk|rk)-[\w-]{8,}/g, REDACTED],
  [/\b(Bearer|Basic)\s+[\w.~+/=-]{6,}/gi, `$1 ${REDACTED}`],
  [/\/\/[^\s/@]{1,256}@/g, `//${REDACTED}@`],
];

/** Takes the given secrets, however they were written, and everything that looks like one out of a text. */
export function scrubber(secrets: readonly (string | null | undefined)[]): Scrub {
  const forms = new Set(
    secrets.flatMap((secret) => {
      const text = secret?.trim() ?? "";
      if (text.length < MIN_SECRET) return [];
      return [
        text,
        encodeURIComponent(text),
        encodeURI(text),
        JSON.stringify(text).slice(1, -1),
        btoaSafe(text),
      ];
    }),
  );
  // The longest first, so that none leaves the rest of another behind.
  const ordered = [...forms].toSorted((a, b) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const form of ordered) clean = clean.replaceAll(form, REDACTED);
    for (const [pattern, replacement] of PATTERNS) clean = clean.replaceAll(pattern, replacement);
    return clean;
  };
}

function btoaSafe(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

/** The secrets of the headers that go out: the values, and what follows a scheme such as `Bearer`. */
export function headerSecrets(headers: Readonly<Record<string, string>> | undefined): string[] {
  return Object.values(headers ?? {}).flatMap((value) => [value, ...value.split(/[\s,;=]+/)]);
}

/** What a URL may carry as a secret. */
export function urlSecrets(url: URL | undefined): string[] {
  return url === undefined ? [] : [...url.searchParams.values(), url.search.slice(1)];
}
