import { type Fields, field, isObject } from "./json.ts";

/** Whether the body of a request has the field. A dot separates the levels of a path. */
export function hasField(body: unknown, path: string): boolean {
  const [first = "", ...rest] = path.split(".");
  if (field(body, first) === undefined) return false;
  return rest.length === 0 || hasField(field(body, first), rest.join("."));
}

/** A copy of the body without the field. An object that is empty after that is removed too. */
export function withoutField(body: Fields, path: string): Fields {
  const [first = "", ...rest] = path.split(".");
  const result: Record<string, unknown> = { ...body };
  const inner = result[first];
  if (rest.length > 0 && isObject(inner)) {
    const left = withoutField(inner, rest.join("."));
    if (Object.keys(left).length > 0) return { ...result, [first]: left };
  }
  Reflect.deleteProperty(result, first);
  return result;
}
