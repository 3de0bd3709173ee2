import { withoutEmphasisEnd } from "../parse/emphasis.ts";

/** A line such as `Answer: 16`, `**My answer:** 16` or `**Answer: 16**`. */
const MARK =
  /^(?<lead>[\W_]*)(?:(?:my|our|the|final|current|updated)\s+){0,3}answer(?<tail>[\W_]*):\s*(?<text>.*)$/is;
const EMPHASIS = /(?<![*_])[*_]+$/;

/** The text after the last "Answer:"; the whole text if there is none. */
export function answerIn(text: string): string {
  const lines = text.split("\n").map((line) => ({ line, marked: markedIn(line) }));
  const at = lines.findLastIndex(({ marked }) => marked !== undefined);
  if (at === -1) return text.trim();
  const rest = lines.slice(at).map(({ line, marked }) => marked ?? line);
  const answer = rest.join("\n").trim();
  // Below a mark that stands alone there may be a letter, whose paragraphs belong together. What comes after code is a remark.
  const isLetter = rest[0]?.trim() === "" && !answer.startsWith("```");
  return (isLetter ? answer : firstParagraph(answer)) || text.trim();
}

/** What follows the mark. Emphasis that began before the mark ends there too, or in the text. */
function markedIn(line: string): string | undefined {
  const { lead = "", tail = "", text } = MARK.exec(line)?.groups ?? {};
  if (text === undefined) return undefined;
  const [emphasis = ""] = EMPHASIS.exec(lead) ?? [];
  return tail.includes(emphasis) ? text : withoutEmphasisEnd(text, emphasis);
}

/** An answer may have several lines: a poem, a list, code. It ends at the first empty line outside of a code block. */
function firstParagraph(text: string): string {
  const lines = text.split("\n");
  let isCode = false;
  const end = lines.findIndex((line) => {
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    return line.trim() === "" && !isCode;
  });
  return (end === -1 ? lines : lines.slice(0, end)).join("\n").trim();
}

/**
 * How similar the answers are, from 0 to 1: the mean over all pairs, 1 if all have the same words. A single answer has no
 * agreement (0).
 */
export function agreementOf(answers: readonly string[]): number {
  const sets = answers.map(wordsOf);
  let sum = 0;
  let pairs = 0;
  for (const [at, one] of sets.entries()) {
    for (const other of sets.slice(at + 1)) {
      sum += overlap(one, other);
      pairs++;
    }
  }
  return pairs === 0 ? 0 : sum / pairs;
}

/** The index of the answer that the others agree with most; the first one in a tie. */
export function mostShared(answers: readonly string[]): number {
  const sets = answers.map(wordsOf);
  let best = 0;
  let most = -1;
  for (const [at, one] of sets.entries()) {
    const shared = sets.reduce((sum, other) => sum + overlap(one, other), 0);
    if (shared > most) [best, most] = [at, shared];
  }
  return best;
}

/**
 * The indices of the distinct answers, each by its first author; answers given more often come first. Duplicates would split the votes.
 * The same words in another order are another answer: who beat whom.
 */
export function candidatesOf(answers: readonly string[]): readonly number[] {
  const groups = new Map<string, { readonly first: number; size: number }>();
  for (const [first, answer] of answers.entries()) {
    const said = JSON.stringify(wordsIn(answer));
    const group = groups.get(said);
    if (group === undefined) groups.set(said, { first, size: 1 });
    else group.size++;
  }
  return [...groups.values()].toSorted((a, b) => b.size - a.size).map(({ first }) => first);
}

/**
 * The index of the candidate with the most votes. Unreadable votes are not counted; in a tie, or without votes, the first
 * candidate wins.
 */
export function countVotes(votes: readonly (number | undefined)[], candidates: number): number {
  const counts = Array.from({ length: candidates }, () => 0);
  for (const vote of votes)
    if (vote !== undefined && vote < candidates) counts[vote] = (counts[vote] ?? 0) + 1;
  return counts.indexOf(Math.max(...counts));
}

/** A number with its sign and decimals is one word, and so is a symbol such as + or ✅: it may be the whole answer. */
const WORD = /(?<![\p{L}\p{N}])[-−+]?\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{N}]+|\p{S}/gu;

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(wordsIn(text));
}

function wordsIn(text: string): readonly string[] {
  return text.toLowerCase().replaceAll("−", "-").match(WORD) ?? [text.trim()];
}

/** The number of common words divided by the number of all words (Jaccard index). */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 && b.size === 0) return 1;
  const both = [...a].filter((word) => b.has(word)).length;
  return both / (a.size + b.size - both);
}
