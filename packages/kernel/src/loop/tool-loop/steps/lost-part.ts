/** What JSON turns into `{}`, whatever is in it. An empty object of some class is nothing that is lost. */
const LOST = /^(?:(?:Weak)?(?:Map|Set)|Promise|Error|RegExp|.*(?:Iterator|Generator))$/;

/**
 * The first part of a value that JSON would lose, with its place: a Map, a Set, a promise, an error. Undefined if there is none. It walks
 * the value as JSON does, so that what `toJSON` returns counts.
 */
export function lostPart(value: unknown): string | undefined {
  const paths = new Map<unknown, string>();
  let lost: string | undefined;
  JSON.stringify(value, function (this: unknown, key: string, part: unknown) {
    if (typeof part !== "object" || part === null || lost !== undefined) return part;
    const around = paths.get(this);
    const path = around === undefined || around === "" ? key : `${around}.${key}`;
    paths.set(part, path);
    if (isLost(part)) lost = path === "" ? nameOf(part) : `${nameOf(part)} at ${path}`;
    return part;
  });
  return lost;
}

function isLost(part: object): boolean {
  return Object.keys(part).length === 0 && LOST.test(nameOf(part));
}

export function nameOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
