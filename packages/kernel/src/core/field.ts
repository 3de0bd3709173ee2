/** One field of a value, or undefined. The name must come from our code, never from the sender. */
export function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
