/** Words that are too common to be useful. */
const COMMON = new Set(
  "a an and are as at be but by for from has have how i in is it its me my not of on or our so that the their them then there they this to was we were what when where which who will with you your".split(
    " ",
  ),
);

/** Scripts that do not put spaces between words. */
const UNSPACED =
  /([\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}]+)/u;

/**
 * The words by which a text can be found, without repeats: in lower case, without accents and plural endings. In scripts without
 * spaces, each pair of adjacent characters counts as a word.
 */
export function keywordsOf(text: string): ReadonlySet<string> {
  const runs =
    text
      .normalize("NFKD")
      .toLowerCase()
      .replaceAll(/\p{M}/gu, "")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const words = runs.flatMap((run) =>
    run.split(UNSPACED).flatMap((piece, at) => (at % 2 === 1 ? pairsOf(piece) : [piece])),
  );
  return new Set(words.filter((word) => word !== "" && !COMMON.has(word)).map(stem));
}

/** Whether the word is a single character of a script without spaces, which may be part of many pairs. */
export function isSingle(word: string): boolean {
  return Array.from(word).length === 1 && UNSPACED.test(word);
}

function pairsOf(piece: string): readonly string[] {
  const characters = Array.from(piece);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}
