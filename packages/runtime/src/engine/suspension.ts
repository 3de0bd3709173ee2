import { type RaviError, SuspendedError } from "@ravi/kernel";

/** Unwinds a run that keeps its place. Not an error of the agent's: whatever it makes of it, the run is suspended. */
export class Suspension extends SuspendedError {
  readonly why: RaviError | undefined;

  constructor(reason: string, why?: RaviError) {
    super({ reason, cause: why });
    this.why = why;
  }
}
