/** The known name that `name` may be a misspelling of; undefined if it is unlike all of them. */
export function meantBy(name: string, known: readonly string[]): string | undefined {
  return known.find((each) => isLike(name.toLowerCase(), each.toLowerCase(), mostTypos(each)));
}

/** Of a short name few letters make another word: `todos` is not meant to be `tools`. */
function mostTypos(name: string): number {
  return Math.max(1, Math.floor(name.length / 4));
}

/** Whether `a` becomes `b` if at most so many letters are added, removed or replaced. */
function isLike(a: string, b: string, most: number): boolean {
  if (a === b) return true;
  if (a[0] === b[0]) return isLike(a.slice(1), b.slice(1), most);
  if (most === 0) return false;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  return isLike(restA, restB, most - 1) || isLike(restA, b, most - 1) || isLike(a, restB, most - 1);
}
