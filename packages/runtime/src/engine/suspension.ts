import type { RaviError } from "@ravi/kernel";

/** Unwinds a run that keeps its place. Not an error of the agent's: whatever it makes of it, the run is suspended. */
export class Suspension extends Error {
  readonly why: RaviError | undefined;

  constructor(message: string, why?: RaviError) {
    super(message);
    this.name = "Suspension";
    this.why = why;
  }
}
