import type { JsonObject } from "@ravi/kernel";
import type { Delta } from "../answers/deltas.ts";
import type { Plan } from "../answers/plan.ts";

/** An answer, as it is written in any protocol. */
export interface Answered {
  readonly id: string;
  /** Epoch seconds. */
  readonly created: number;
  readonly model: string;
  readonly plan: Plan;
}

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
