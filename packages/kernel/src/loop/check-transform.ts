import { InvalidValueError } from "../errors/errors.ts";
import type { StreamTransform } from "../ports/middleware.ts";
import { hasMethod } from "./agent-parts.ts";

/** Refused where it is added: what is called in the middle of a stream would fail far from who gave it. */
export function checkTransform(transform: StreamTransform): StreamTransform {
  if (hasMethod(transform, "push") && hasMethod(transform, "flush")) return transform;
  const expected = "an object with push(event) and flush(), each of which gives a list of events";
  throw new InvalidValueError({ field: "addTransform", value: transform, expected });
}
