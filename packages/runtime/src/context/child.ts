import type { HireOutcome, RunHandle } from "@ravi/kernel";
import type { ExecutionInbox } from "./inbox.ts";

/** A hired agent as its parent sees it. */
export interface Child {
  readonly handle: RunHandle;
  /** Undefined for one that was over before this process began. */
  readonly inbox: ExecutionInbox | undefined;
  /** Never rejects for the child's own fate. */
  readonly outcome: Promise<HireOutcome>;
}
