import type { SessionEntry } from "../store/entry.ts";

/** What stands in the place of a secret. */
const HIDDEN = "[secret]";
/** A shorter value would be found in ordinary words. */
const LEAST_LENGTH = 8;
const SECRET_NAME = /(?:^|[_-]|API)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i;

/** The values of environment variables that are secrets by their names. */
export function environmentSecrets(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) =>
    SECRET_NAME.test(name) && value !== undefined ? [value] : [],
  );
}

/** Shapes of secrets that stand in addresses, headers and error texts. Each pattern is linear. */
const SHAPES: readonly (readonly [RegExp, string])[] = [
  [/(\b[a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/@"'\\]{1,300}@/gi, `$1${HIDDEN}@`],
  [
    /([?&;](?:[a-z_-]{0,20}(?:key|token|secret|signature|password|passwd|credential)|sig|code|auth)=)[^\s&"'\\#]{1,2000}/gi,
    `$1${HIDDEN}`,
  ],
  [/\b(bearer|basic)[ \t]{1,4}[\w.~+/=-]{8,2000}/gi, `$1 ${HIDDEN}`],
  [/\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs])[-_][\w-]{16,500}/g, HIDDEN],
  [/\bAKIA[0-9A-Z]{16}\b/g, HIDDEN],
];

/** Takes secrets out of what is written. */
export interface Redactor {
  (entry: SessionEntry): SessionEntry;
}

/**
 * Known values are taken out of everything but what the user said; that is the user's own to say. What looks like a secret
 * is taken out of error texts, where addresses and headers end up that nobody meant to keep.
 */
export function redactor(secrets: readonly string[]): Redactor {
  const known = [...new Set(secrets)]
    .filter((secret) => secret.length >= LEAST_LENGTH)
    .toSorted((a, b) => b.length - a.length)
    // As they stand in JSON, where quotes and line ends are written otherwise.
    .map((secret) => JSON.stringify(secret).slice(1, -1));
  return (entry) => {
    if (entry.kind === "message" && entry.message.role === "user") return entry;
    const isError =
      entry.kind === "message" && entry.message.role === "tool" && entry.message.isError === true;
    if (!isError && known.length === 0) return entry;
    const text = JSON.stringify(entry);
    let clean = text;
    for (const secret of known) clean = clean.replaceAll(secret, HIDDEN);
    if (isError) for (const [shape, instead] of SHAPES) clean = clean.replaceAll(shape, instead);
    if (clean === text) return entry;
    const { id, parent, kind, at } = entry;
    return { ...(JSON.parse(clean) as SessionEntry), id, parent, kind, at } as SessionEntry;
  };
}
