import type { HireOutcome, RunHandle } from "@ravi/kernel";
import type { Linked } from "@ravi/kernel/loop";
import type { Mailbox } from "./mailbox.ts";

/** A hired agent as its parent's engine sees it. */
export interface Child extends Linked<Child> {
  readonly handle: RunHandle;
  /** Undefined for one that is over, unless somebody may still ask for what it has answered. */
  readonly mailbox: Mailbox | undefined;
  /** Never rejects for the child's own fate. */
  readonly outcome: Promise<HireOutcome>;
}
