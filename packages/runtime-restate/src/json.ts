import type { Serde } from "@restatedev/restate-sdk";

/** Serializes everything as JSON. Nothing becomes null. */
export function json<T>(): Serde<T> {
  return SERDE as Serde<T>;
}

const SERDE: Serde<unknown> = {
  contentType: "application/json",
  serialize: (value) => new TextEncoder().encode(JSON.stringify(value ?? null)),
  deserialize: (bytes) =>
    (bytes.length === 0 ? null : JSON.parse(new TextDecoder().decode(bytes))) as unknown,
};
