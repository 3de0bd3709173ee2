import { moduleIfAny } from "./node-module.ts";

/**
 * A key that is equal for equal values: JSON with sorted keys, or its hash. Undefined for a value that is not plain JSON (a Date, a
 * Map, a function, a cycle, NaN), because two different ones could look the same.
 */
export function keyOf(value: unknown): string | undefined {
  const text = canonical(value, 0);
  if (text === undefined) return undefined;
  // Without Node the key is the text itself, which only takes more memory.
  return moduleIfAny("node:crypto")?.hash("sha256", text, "base64url") ?? text;
}

const MAX_DEPTH = 200;

function canonical(value: unknown, depth: number): string | undefined {
  if (depth > MAX_DEPTH) return undefined;
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      // JSON has no infinities or NaN, and -0 would become 0.
      return Number.isFinite(value) && !Object.is(value, -0) ? String(value) : undefined;
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? canonicalList(value, depth) : canonicalObject(value, depth);
    default:
      return undefined;
  }
}

function canonicalList(list: readonly unknown[], depth: number): string | undefined {
  const parts: string[] = [];
  for (const item of list) {
    const part = canonical(item, depth + 1);
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return `[${parts.join(",")}]`;
}

function canonicalObject(value: object, depth: number): string | undefined {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return undefined;
  const parts: string[] = [];
  for (const key of Object.keys(value).toSorted()) {
    const inner: unknown = Reflect.get(value, key);
    // An undefined field counts as absent, as in JSON.
    if (inner === undefined) continue;
    const part = canonical(inner, depth + 1);
    if (part === undefined) return undefined;
    parts.push(`${JSON.stringify(key)}:${part}`);
  }
  return `{${parts.join(",")}}`;
}
