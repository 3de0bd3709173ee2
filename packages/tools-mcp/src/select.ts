import { InvalidValueError } from "@ravi/kernel";
import { field, listOf } from "@ravi/kernel/provider";
import { shown } from "./names.ts";

/** Which of a server's tools are used, by the server's own names. */
export interface Selection {
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
}

/** The chosen ones of what was listed. What is left out is not looked at, so that one that cannot be used does not stop the others. */
export function select(listed: readonly unknown[], { include, exclude }: Selection): readonly unknown[] {
  return listed.filter((each) => {
    const name = field(each, "name");
    if (typeof name !== "string") return true;
    return (include === undefined || include.includes(name)) && exclude?.includes(name) !== true;
  });
}

/** Throws if a name is chosen that no tool has: a misspelt name in `exclude` would leave the tool in. */
export function checkSelection(
  { include, exclude }: Selection,
  malformed: ReadonlyMap<string, string>,
  ...lists: readonly unknown[]
): void {
  const known = new Set(lists.flatMap((list) => listOf(list)).map((each) => field(each, "name")));
  const broken = include?.find((name) => malformed.has(name) && !known.has(name));
  if (broken !== undefined) {
    const expected = `a tool with a sound definition; the server's is malformed (${malformed.get(broken)})`;
    throw new InvalidValueError({ field: "include", value: broken, expected });
  }
  for (const name of malformed.keys()) known.add(name);
  for (const [option, names] of Object.entries({ include, exclude })) {
    const unknown = names?.find((name) => !known.has(name));
    if (unknown === undefined) continue;
    const has = Array.from(known, (name) => shown(String(name))).toSorted();
    const list = has.length === 0 ? "none" : has.slice(0, 100).join(", ");
    const expected = `the name of one of the server's tools, which are: ${list}`;
    throw new InvalidValueError({ field: option, value: unknown, expected });
  }
}
