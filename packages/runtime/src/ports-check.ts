import {
  checkFields,
  type Headcount,
  InvalidValueError,
  type Ledger,
  type MiddlewareLevel,
  type Supervision,
} from "@ravi/kernel";
import type { RuntimePorts } from "./ports.ts";

type Needs = {
  readonly [P in keyof RuntimePorts]-?:
    | "a function"
    | readonly (keyof NonNullable<RuntimePorts[P]> & string)[];
};

/** What each of them has to be able to do. What is optional in its interface is not named. */
const NEEDS: Needs = {
  journal: ["claim", "release", "load", "append", "post", "items", "list", "delete"],
  blobs: ["put", "get"],
  headcount: "a function",
  ledger: "a function",
  meter: ["estimate", "price"],
  limiter: ["acquire", "slowDown"],
  hooks: ["has", "dispatch"],
  pipelines: [],
  history: ["load", "append", "clear"],
  compaction: ["compact"],
  memory: ["remember", "recall", "forget"],
  permissions: ["check"],
  telemetry: ["startSpan", "metric"],
  auditLog: ["append"],
  restart: ["shouldRetry", "delayMs", "reset"],
  validator: "a function",
  clock: ["now"],
  ids: ["uuid", "random"],
  logger: ["debug", "info", "warn", "error"],
};

const LEVELS = ["agent", "chat", "function"] as const satisfies readonly MiddlewareLevel[];

/** A service that cannot serve would be found out in the middle of a run, or never: an audit log that writes nothing down, say. */
export function checkPorts(ports: RuntimePorts): void {
  for (const [name, needs] of Object.entries(NEEDS)) {
    const value: unknown = Reflect.get(ports, name);
    if (value !== undefined) checkPort(`runtime options.${name}`, value, needs);
  }
  // A guard at a level that is misspelt would guard nothing.
  if (ports.pipelines !== undefined) checkFields("runtime options.pipelines", ports.pipelines, LEVELS);
  for (const [level, pipeline] of Object.entries(ports.pipelines ?? {}))
    if (pipeline !== undefined) checkPort(`runtime options.pipelines.${level}`, pipeline, ["run", "admit"]);
}

const LEDGER: readonly (keyof Ledger)[] = ["reserve", "charge", "child", "remaining"];
const HEADCOUNT: readonly (keyof Headcount)[] = ["acquire", "release", "isPaused", "whenResumed"];

// What factories have made for a run. One that forgets to give it back would leave limits that nobody keeps. Each method is looked
// up by its own name: this is asked for every run, and names from a list make it twenty times as slow.

export function madeLedger(ledger: Ledger): Ledger {
  const isOne =
    isObject(ledger) &&
    typeof ledger.reserve === "function" &&
    typeof ledger.charge === "function" &&
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

function checkPort(field: string, value: unknown, needs: "a function" | readonly string[]): void {
  if (needs === "a function") {
    if (typeof value !== "function") throw new InvalidValueError({ field, value, expected: needs });
    return;
  }
  if (isObject(value) && needs.every((method) => typeof Reflect.get(value, method) === "function")) return;
  const methods = needs.length === 0 ? "" : ` with the methods ${needs.join(", ")}`;
  throw new InvalidValueError({ field, value, expected: `an object${methods}` });
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
