import { type Headcount, InvalidValueError, type Ledger, type Supervision } from "@ravi/kernel";
import { checkPort } from "@ravi/kernel/loop";

const LEDGER: readonly (keyof Ledger)[] = ["reserve", "charge", "child", "remaining"];
const HEADCOUNT: readonly (keyof Headcount)[] = ["acquire", "release", "isPaused", "whenResumed"];

// What factories have made for a run. One that forgets to give it back would leave limits that nobody keeps. Each method is looked
// up by its own name: this is asked for every run, and names from a list make it twenty times as slow.

/** One without `charge`, which only a resumed run asks for, may serve. */
export function madeLedger(ledger: Ledger): Ledger {
  const isOne =
    isObject(ledger) &&
    typeof ledger.reserve === "function" &&
    typeof ledger.child === "function" &&
    typeof ledger.remaining === "function";
  if (!isOne) checkPort("what runtime options.ledger gives", ledger, LEDGER);
  return ledger;
}

/** A headcount of another root would deny every hire of this run, and only the model that asked would hear why. */
export function madeHeadcount(headcount: Headcount, root: Supervision): Headcount {
  const isOne =
    isObject(headcount) &&
    typeof headcount.acquire === "function" &&
    typeof headcount.release === "function" &&
    typeof headcount.isPaused === "function" &&
    typeof headcount.whenResumed === "function";
  if (!isOne) checkPort("what runtime options.headcount gives", headcount, HEADCOUNT);
  if (headcount.priorityOf === undefined || headcount.priorityOf(root.agentId) !== undefined)
    return headcount;
  throw new InvalidValueError({
    field: "what runtime options.headcount gives",
    value: headcount,
    expected: `a headcount whose root is ${root.agentId}, as new SpawnTracker(root.spawnBudget, { rootId: root.rootId })`,
  });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
