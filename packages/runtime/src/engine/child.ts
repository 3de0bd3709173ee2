import type { HireOutcome, RunHandle } from "@ravi/kernel";
import type { Linked } from "@ravi/kernel/loop";
import type { Mailbox } from "./mailbox.ts";

/** A hired agent as its parent's engine sees it. */
export interface Child extends Linked<Child> {
  readonly handle: RunHandle;
  /** Undefined after its end, unless what it has replied may still be asked for. */
  readonly mailbox: Mailbox | undefined;
  /** Does not reject if the child fails. */
  readonly outcome: Promise<HireOutcome>;
}
