import { InvalidValueError } from "@ravi/kernel";
import { plainName, shortId } from "@ravi/kernel/provider";

/** The longest name that model providers accept. */
const MAX_NAME = 64;

/**
 * The name under which the model is told of a tool. Characters that providers refuse become `_`; a name that is too long ends in a hash
 * of the whole, so that two long ones stay different.
 */
function toolName(serverName: string, prefix: string): string {
  const whole = `${prefix}${serverName}`;
  if (whole.length <= MAX_NAME) return plainName(whole);
  return plainName(shortId(whole, MAX_NAME));
}

/** The tools by the names that the model is told. Two tools with one name are refused: it would be chance which of them is called. */
export function byToolName<T extends { readonly name: string }>(
  definitions: readonly T[],
  prefix: string,
): ReadonlyMap<string, T> {
  const named = new Map<string, T>();
  for (const definition of definitions) {
    const name = toolName(definition.name, prefix);
    const other = named.get(name);
    if (other !== undefined) throw clash(name, shown(other.name), shown(definition.name));
    named.set(name, definition);
  }
  return named;
}

/** Names both, since a person has to decide which one to rename or to leave out. */
export function clash(name: string, one: string, other: string): InvalidValueError {
  const expected = `one tool of that name; ${one} and ${other} both get it: leave one out with exclude, or give its server a prefix`;
  return new InvalidValueError({ field: "tool name", value: name, expected });
}

/** A name that a server has made up, which may be of any length and content. */
export function shown(name: string): string {
  return JSON.stringify(name.length <= 100 ? name : `${name.slice(0, 97)}...`);
}
