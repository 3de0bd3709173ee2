const MARK = /^\W*(?:final\s+)?answer\W*:[*_\s]*(.*)$/is;

/** What stands after "Answer:", the last one where there are several; the whole text where there is none. */
export function answerIn(text: string): string {
  const lines = text.split("\n").map((line) => ({ line, marked: MARK.exec(line)?.[1] }));
  const at = lines.findLastIndex(({ marked }) => marked !== undefined);
  if (at === -1) return text.trim();
  const rest = lines.slice(at).map(({ line, marked }) => marked ?? line);
  return firstParagraph(rest.join("\n").trim()) || text.trim();
}

/** An answer may have several lines: a poem, a list, code. It ends with the first empty one outside of a block of code. */
function firstParagraph(text: string): string {
  const lines = text.split("\n");
  let isCode = false;
  const end = lines.findIndex((line) => {
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    return line.trim() === "" && !isCode;
  });
  return (end === -1 ? lines : lines.slice(0, end)).join("\n").trim();
}

/** How much all answers say the same: the mean over all pairs, 1 where they are the same words. One alone agrees with nobody. */
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

/** The one whom the others agree with most; the first among equals. */
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
 * The different answers, by the place of the first who gave each; those that more have given come first. The same answer twice
 * would split its votes.
 */
export function candidatesOf(answers: readonly string[]): readonly number[] {
  const sets = answers.map(wordsOf);
  const groups: { readonly first: number; size: number }[] = [];
  for (const [at, words] of sets.entries()) {
    const group = groups.find(({ first }) => overlap(sets[first] ?? new Set(), words) === 1);
    if (group === undefined) groups.push({ first: at, size: 1 });
    else group.size++;
  }
  return groups.toSorted((a, b) => b.size - a.size).map(({ first }) => first);
}

/** Who has the most votes. Who did not vote legibly has not voted; the first among equals wins, and so without any vote. */
export function countVotes(votes: readonly (number | undefined)[], candidates: number): number {
  const counts = Array.from({ length: candidates }, () => 0);
  for (const vote of votes)
    if (vote !== undefined && vote < candidates) counts[vote] = (counts[vote] ?? 0) + 1;
  return counts.indexOf(Math.max(...counts));
}

/** A number with its sign and its fraction is one word, and so is a sign like + or ✅: they may be all that is said. */
const WORD = /(?<![\p{L}\p{N}])[-−+]?\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{N}]+|\p{S}/gu;

function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().replaceAll("−", "-").match(WORD);
  return new Set(words ?? [text.trim()]);
}

/** Words of both, over words of either. */
function overlap(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  if (a.size === 0 && b.size === 0) return 1;
  const both = [...a].filter((word) => b.has(word)).length;
  return both / (a.size + b.size - both);
}
