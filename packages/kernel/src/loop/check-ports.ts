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

/** What most users give, so that a path in place of a journal is told what makes one of it. */
const SUCH_AS: Readonly<Partial<Record<keyof CheckedPorts, string>>> = {
  journal: 'SqliteJournal.open(".ravi")',
  meter: "new ModelMeter()",
  limiter: "new FairPool({ concurrency: 10 })",
  hooks: "new HookManager()",
  history: "new MemoryHistory()",
  compaction: "new TokenBudget()",
  restart: "new RetryPolicy()",
};

/** A map, because V8 compiles what reads fields of many names again and again. */
const NEEDS_BY_NAME: ReadonlyMap<string, FunctionNeed | readonly string[]> = new Map(Object.entries(NEEDS));

/**
 * Checks all services, which are fields of an object literal. One that does not work would only be noticed in the middle of a run, or
 * never: an audit log that records nothing, for example.
 */
export function checkPorts(what: string, ports: CheckedPorts): void {
  // A runtime of the sdk is made for each run, and to look for each of the names above takes three times as long.
  for (const name in ports) {
    const value: unknown = ports[name as keyof CheckedPorts];
    const needs = value === undefined ? undefined : NEEDS_BY_NAME.get(name);
    if (needs !== undefined && !isFit(value, needs))
      refuse(`${what}.${name}`, value, needs, SUCH_AS[name as keyof CheckedPorts]);
  }
  // A guard at a misspelt level would guard nothing.
  if (ports.pipelines !== undefined) checkLevels(`${what}.pipelines`, ports.pipelines);
}

/** Checks one service by the methods that it must have. */
export function checkPort(field: string, value: unknown, needs: FunctionNeed | readonly string[]): void {
  if (!isFit(value, needs)) refuse(field, value, needs);
}

function isFit(value: unknown, needs: FunctionNeed | readonly string[]): boolean {
  return typeof needs === "string" ? typeof value === "function" : canServe(value) && hasAll(value, needs);
}

function refuse(
  field: string,
  value: unknown,
  needs: FunctionNeed | readonly string[],
  example?: string,
): never {
  if (typeof needs === "string") throw new InvalidValueError({ field, value, expected: needs });
  const methods = needs.length === 0 ? "" : ` with the methods ${needs.join(", ")}`;
  const suchAs = example === undefined ? "" : `, such as ${example}`;
  throw new InvalidValueError({ field, value, expected: `an object${methods}${suchAs}` });
}

/** Not by `Reflect.get`, which takes twice as long. */
function hasAll(value: object, methods: readonly string[]): boolean {
  const fields = value as Readonly<Record<string, unknown>>;
  for (const method of methods) if (typeof fields[method] !== "function") return false;
  return true;
}

/** Whether the value can have methods: an object, a function or a class. */
export function canServe(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
