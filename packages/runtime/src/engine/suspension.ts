import { type RaviError, SuspendedError } from "@ravi/kernel";

/** Thrown to unwind a run that can be resumed later. If an agent catches it, the run is suspended all the same. */
export class Suspension extends SuspendedError {
  /** The error that has caused the suspension, if there is one. */
  readonly why: RaviError | undefined;

  constructor(reason: string, why?: RaviError) {
    super({ reason, cause: why });
    this.why = why;
  }
}
