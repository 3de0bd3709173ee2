import type { Serde } from "@restatedev/restate-sdk";

/** Everything that crosses the wire is JSON; nothing at all is null. */
export function json<T>(): Serde<T> {
  return SERDE as Serde<T>;
}

const SERDE: Serde<unknown> = {
  contentType: "application/json",
  serialize: (value) => new TextEncoder().encode(JSON.stringify(value ?? null)),
  deserialize: (bytes) =>
    (bytes.length === 0 ? null : JSON.parse(new TextDecoder().decode(bytes))) as unknown,
};
