import type { Clock, IdSource } from "../core/clock.ts";
import { InvalidValueError } from "../errors/errors.ts";
import type { ContextPorts } from "../ports/agent-run.ts";
import type { RestartPolicy } from "../ports/headcount.ts";
import type { Hooks } from "../ports/hooks.ts";
import type { BlobStore, Journal } from "../ports/journal.ts";
import { checkLevels } from "./pipeline-levels.ts";

/** The services that a runtime of any engine may be given. */
export interface CheckedPorts extends Omit<ContextPorts, "clock" | "ids" | "hooks"> {
  readonly clock?: Clock | undefined;
  readonly ids?: IdSource | undefined;
  readonly hooks?: Hooks | undefined;
  readonly journal?: Journal | undefined;
  readonly blobs?: BlobStore | undefined;
  readonly restart?: RestartPolicy | undefined;
  readonly headcount?: unknown;
  readonly ledger?: unknown;
}

/** What is expected of a service that is a function. */
type FunctionNeed = `a function${string}`;

type Needs = {
  readonly [P in keyof CheckedPorts]-?:
    | FunctionNeed
    | readonly (keyof NonNullable<CheckedPorts[P]> & string)[];
};

/** The methods that each service must have. Optional methods are not listed. */
const NEEDS: Needs = {
  journal: ["claim", "release", "load", "append", "post", "items", "list", "delete"],
  blobs: ["put", "get"],
  headcount: "a function that makes one for each run: (root) => new SpawnTracker(root.spawnBudget)",
  ledger: "a function that makes one for each run: (root) => new ExecutionTracker(root.executionBudget)",
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

/** Made once, because a runtime of the sdk is made for each run. */
const ALL_NEEDS = Object.entries(NEEDS);

/**
 * Checks all services. One that does not work would only be noticed in the middle of a run, or never: an audit log that records
 * nothing, for example.
 */
export function checkPorts(what: string, ports: CheckedPorts): void {
  for (const [name, needs] of ALL_NEEDS) {
    const value: unknown = Reflect.get(ports, name);
    if (value !== undefined) checkPort(`${what}.${name}`, value, needs);
  }
  // A guard at a misspelt level would guard nothing.
  if (ports.pipelines !== undefined) checkLevels(`${what}.pipelines`, ports.pipelines);
}

/** Checks one service by the methods that it must have. */
export function checkPort(field: string, value: unknown, needs: FunctionNeed | readonly string[]): void {
  if (typeof needs === "string") {
    if (typeof value !== "function") throw new InvalidValueError({ field, value, expected: needs });
    return;
  }
  if (canServe(value) && needs.every((method) => typeof Reflect.get(value, method) === "function")) return;
  const methods = needs.length === 0 ? "" : ` with the methods ${needs.join(", ")}`;
  throw new InvalidValueError({ field, value, expected: `an object${methods}` });
}

/** Whether the value can have methods: an object, a function or a class. */
export function canServe(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
