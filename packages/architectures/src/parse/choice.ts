import { fieldIn } from "./json.ts";

const NAMES = [
  "choice",
  "agent",
  "route",
  "worker",
  "next",
  "nextAgent",
  "to",
  "target",
  "name",
  "vote",
  "winner",
  "answer",
];

/**
 * Which of the options a model chose: from a JSON field, the whole text, a line such as `Route: billing`, or the only option that is
 * mentioned. Undefined if none or several are mentioned, because then it has not chosen.
 */
export function readChoice(
  text: string,
  options: readonly string[],
  names: readonly string[] = NAMES,
): string | undefined {
  const field = fieldIn(text, names);
  if (typeof field === "string" || typeof field === "number") {
    const exact = sameAs(String(field), options);
    return exact ?? onlyMention(String(field), options);
  }
  return sameAs(text, options) ?? markedLine(text, options, names) ?? onlyMention(text, options);
}

/** An exact match, else a match without case, else one without punctuation if it is unique: `c` is not `c++`. */
function sameAs(text: string, options: readonly string[]): string | undefined {
  const given = text.trim();
  const exact =
    options.find((option) => option === given) ??
    options.find((option) => option.toLowerCase() === given.toLowerCase());
  if (exact !== undefined) return exact;
  const wanted = plain(text);
  const [only, ...others] = wanted === "" ? [] : options.filter((option) => plain(option) === wanted);
  return others.length === 0 ? only : undefined;
}

/** A line of its own such as `Route: billing`. */
function markedLine(text: string, options: readonly string[], names: readonly string[]): string | undefined {
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === -1 || !names.some((name) => plain(line.slice(0, colon)).endsWith(plain(name)))) continue;
    const found = sameAs(line.slice(colon + 1), options);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Where a statement about an option ends and another begins. In a row of punctuation marks only the last one matches; otherwise
 * each would be tried with all that follow.
 */
const CLAUSE = /[.,;:!?](?=\s|$)|\n|\b(?:because|since|but|so|while|although)\b/u;
const NOT =
  /\b(?:not|no|never|neither|nor|none|nobody|without|except|cannot|instead of|rather than|other than)\b|n['’]t\b/u;
/** Each option is replaced by one character of the private use area, which has no meaning in any text. */
const FIRST_SIGN = 0xe000;
const MAX_SIGNS = 0x1900;

/**
 * The only option that is mentioned favourably. Matches whole words only, the longest name first: `data-analyst` does not mention `data`.
 * An option that is mentioned in a negative clause is not chosen.
 */
function onlyMention(text: string, options: readonly string[]): string | undefined {
  let rest = ` ${text.toLowerCase().replaceAll(/[\ue000-\uf8ff]/g, "")} `;
  const byLength = options.toSorted((a, b) => b.length - a.length).slice(0, MAX_SIGNS);
  for (const [at, option] of byLength.entries()) {
    const pattern = new RegExp(
      `(?<![\\p{L}\\p{N}_-])${escaped(option.toLowerCase())}(?![\\p{L}\\p{N}_-])`,
      "gu",
    );
    rest = rest.replaceAll(pattern, ` ${String.fromCodePoint(FIRST_SIGN + at)} `);
  }
  const named = new Set<string>();
  const refused = new Set<string>();
  for (const clause of rest.split(CLAUSE)) {
    for (const sign of clause.match(/[\ue000-\uf8ff]/g) ?? []) (NOT.test(clause) ? refused : named).add(sign);
  }
  const [only, ...others] = [...named].filter((sign) => !refused.has(sign));
  return only === undefined || others.length > 0
    ? undefined
    : byLength[(only.codePointAt(0) ?? 0) - FIRST_SIGN];
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
}
