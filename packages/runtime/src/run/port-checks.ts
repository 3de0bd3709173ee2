import { type Headcount, InvalidValueError, type Ledger, type Supervision } from "@ravi/kernel";
import { checkPort } from "@ravi/kernel/loop";

const LEDGER: readonly (keyof Ledger)[] = ["reserve", "charge", "child", "remaining"];
const HEADCOUNT: readonly (keyof Headcount)[] = ["acquire", "release", "isPaused", "whenResumed"];

// Checks what the factories returned for a run. If a factory forgets its `return`, limits would silently not apply. Each method is
// accessed by its own name: this runs for every run, and names from a list make it twenty times as slow.

/** A ledger without `charge` is accepted: only a resumed run needs it. */
export function checkLedger(ledger: Ledger): Ledger {
  const isOne =
    isObject(ledger) &&
    typeof ledger.reserve === "function" &&
    typeof ledger.child === "function" &&
    typeof ledger.remaining === "function";
  if (!isOne) checkPort("what runtime options.ledger gives", ledger, LEDGER);
  return ledger;
}

/** Throws if the headcount belongs to another root. It would deny every hire of this run, and only the model would see why. */
export function checkHeadcount(headcount: Headcount, root: Supervision): Headcount {
  const isOne =
    isObject(headcount) &&
    typeof headcount.acquire === "function" &&
    typeof headcount.release === "function" &&
    typeof headcount.isPaused === "function" &&
    typeof headcount.whenResumed === "function";
  if (!isOne) checkPort("what runtime options.headcount gives", headcount, HEADCOUNT);
  if (isFor(headcount, root)) return headcount;
  throw new InvalidValueError({
    field: "what runtime options.headcount gives",
    value: headcount,
    expected: `a headcount whose root is ${root.agentId}, for example new SpawnTracker(root.spawnBudget, { rootId: root.rootId })`,
  });
}

function isFor(headcount: Headcount, { agentId }: Supervision): boolean {
  if (headcount.nameRoot !== undefined) return headcount.nameRoot(agentId);
  return headcount.priorityOf === undefined || headcount.priorityOf(agentId) !== undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
