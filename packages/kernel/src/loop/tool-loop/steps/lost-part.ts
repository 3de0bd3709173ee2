/**
 * What is kept although it has no fields: an empty list, a number in an object, an empty object of some class. JSON turns all else into `{}`,
 * whatever is in it: a Map, a promise, headers, a stream.
 */
const KEPT = /^(?:Object|Arguments|Number|String|Boolean|.*Array)$/;

/**
 * The first part of a value that JSON would lose, with its place: a Map, a promise, an error, a stream. Undefined if there is none. It walks
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
  return Object.keys(part).length === 0 && !KEPT.test(nameOf(part));
}

export function nameOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
