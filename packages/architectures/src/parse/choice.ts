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
 * Which of the options a model chose. A field of JSON, the whole text, a marked line, or the only option that is mentioned;
 * undefined where none or several are, because then it has not chosen.
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

/** As it is written, or else but for case and marks, where that fits one of them alone: `c` is not `c++`. */
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

/** `Route: billing`, on a line of its own. */
function markedLine(text: string, options: readonly string[], names: readonly string[]): string | undefined {
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon === -1 || !names.some((name) => plain(line.slice(0, colon)).endsWith(plain(name)))) continue;
    const found = sameAs(line.slice(colon + 1), options);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Where one thing ends that is said of an option, and another begins. Of a row of marks the last counts: each would be tried with all after it. */
const CLAUSE = /[.,;:!?](?=\s|$)|\n|\b(?:because|since|but|so|while|although)\b/u;
const NOT =
  /\b(?:not|no|never|neither|nor|none|nobody|without|except|cannot|instead of|rather than|other than)\b|n['’]t\b/u;
/** One sign for each option, of those that mean nothing in any text. */
const FIRST_SIGN = 0xe000;
const MOST_SIGNS = 0x1900;

/**
 * The only option that is spoken for. Whole words only, and the longest name first: `data` is not mentioned by `data-analyst`.
 * One of whom it is said that it is not the one is not chosen by being named.
 */
function onlyMention(text: string, options: readonly string[]): string | undefined {
  let rest = ` ${text.toLowerCase().replaceAll(/[\ue000-\uf8ff]/g, "")} `;
  const byLength = options.toSorted((a, b) => b.length - a.length).slice(0, MOST_SIGNS);
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
