import { InvalidValueError } from "../errors/errors.ts";

/**
 * Refuses a field that seems to be a misspelt one of the known fields: nobody would read it, and a guard would be missing without a word.
 * Only for a plain object, which may have fields of its own. A known field that it has is not missing, so `names` beside `name` is one
 * of its own. With `kind`, only fields of that type are looked at.
 */
export function checkSpelling(
  owner: string,
  value: object,
  known: readonly string[],
  kind?: "function",
): void {
  if (Object.getPrototypeOf(value) !== Object.prototype) return;
  const missing = known.filter((name) => Reflect.get(value, name) === undefined);
  for (const [name, field] of Object.entries<unknown>({ ...value })) {
    const meant = kind === undefined || typeof field === kind ? meantBy(name, missing) : undefined;
    if (meant === undefined || meant === name) continue;
    const expected = `no field of that name; known fields: ${known.join(", ")}; did you mean ${meant}?`;
    throw new InvalidValueError({ field: `${owner}.${name}`, value: field, expected });
  }
}

/** The known name that `name` may be a misspelling of; undefined if it is unlike all of them. */
function meantBy(name: string, known: readonly string[]): string | undefined {
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
