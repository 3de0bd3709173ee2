import type { JsonObject } from "@ravi/kernel";
import type { Delta } from "../answers/deltas.ts";

/** How one protocol writes an answer. Each text is a finished piece of the stream. */
export interface Wire {
  /** The whole answer, when it is not streamed. */
  whole(): JsonObject;
  opening(): string;
  delta(delta: Delta): string;
  closing(): string;
  /** An error in the middle of a stream. */
  failure(error: Error): string;
}
