/** Words that say nothing about what a text is about. */
const COMMON = new Set(
  "a an and are as at be but by for from has have how i in is it its me my not of on or our so that the their them then there they this to was we were what when where which who will with you your".split(
    " ",
  ),
);

/** The words of a text that it can be found by, each once: lower case, without accents and plural endings. */
export function keywordsOf(text: string): ReadonlySet<string> {
  const words =
    text
      .normalize("NFKD")
      .toLowerCase()
      .replaceAll(/\p{M}/gu, "")
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => !COMMON.has(word)).map(stem));
}

function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}
