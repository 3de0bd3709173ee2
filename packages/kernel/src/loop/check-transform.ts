import { InvalidValueError } from "../errors/errors.ts";
import type { StreamTransform } from "../ports/middleware.ts";
import { hasMethod } from "./agent-parts.ts";

/** Checked when it is added: in the middle of a stream it would fail far from its cause. */
export function checkTransform(transform: StreamTransform): StreamTransform {
  if (hasMethod(transform, "push") && hasMethod(transform, "flush")) return transform;
  const expected = "an object with the methods push(event) and flush(), which return an array of events";
  throw new InvalidValueError({ field: "addTransform", value: transform, expected });
}
