import type { JsonObject } from "@ravi/kernel";
import type { Delta } from "../answers/deltas.ts";

/** How one protocol writes an answer. Each string is a complete piece of the stream. */
export interface Wire {
  /** The whole answer, if it is not streamed. */
  whole(): JsonObject;
  opening(): string;
  delta(delta: Delta): string;
  closing(): string;
  /** Reports an error in the middle of a stream. */
  failure(error: Error): string;
}
