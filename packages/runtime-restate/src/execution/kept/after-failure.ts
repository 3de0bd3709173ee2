import { ErrorCode, type JsonObject, type JsonValue, type SerializedError } from "@ravi/kernel";
import type { Paid } from "../account.ts";
import { begins, type Kept, type Operation, type Step, type StepOf } from "./steps.ts";

/** A step that failed and is made again. */
export interface Again {
  /** What the failed call has cost, and how often it was tried. */
  readonly paid: readonly Paid[];
  readonly attempts: number;
  /** Whether it was stopped while it was under way. */
  readonly isCutOff?: true | undefined;
  /** How much of its time a child had used. */
  readonly tookMs: number;
}

/** What an execution has done, as it counts when it goes on after a failure. */
export interface AfterFailure {
  /** In order. The agent has to ask for the same. A step that is made again is null. */
  readonly operations: readonly Operation[];
  readonly again: ReadonlyMap<string, Again>;
  /** What it did since it began something for the last time. It may ask for it again, or for something else. */
  readonly optional: ReadonlyMap<string, Step>;
  /** Messages and delivered values that it got after a call that is made again. They are given to it again, whatever it asks for. */
  readonly unread: readonly StepOf<"mail">[];
  readonly values: ReadonlyMap<string, readonly StepOf<"wait">[]>;
  /** The children whose ends it has seen, and that do not go on. */
  readonly joined: ReadonlySet<string>;
}

/**
 * Leaves out why an execution has failed: the model calls and hires that failed last, after which its agent began nothing else. A failure
 * that the agent has seen and gone on after stays, since it would do otherwise now; so does that of a tool, which may have done its work. A tool that was
 * stopped with its agent is made again.
 */
export function afterFailure({ operations, error }: Pick<Kept, "operations" | "error">): AfterFailure {
  const last = operations.findLastIndex(({ asked }) => asked.some(begins));
  const failed = failuresIn(operations, last, error);
  const again = new Map<string, Again>();
  const kept = operations.map((operation): Operation => {
    const steps = operation.steps.map((step, place) => {
      if (step === null || !failed.has(step)) return step;
      again.set(operation.asked[place] ?? "", againOf(step));
      return null;
    });
    return { ...operation, steps };
  });
  const tail = kept.slice(last + 1);
  const isOver = [...failed].some(({ kind }) => kind === "call");
  return {
    operations: kept.slice(0, last + 1),
    again,
    ...(isOver ? { optional: new Map<string, Step>(), ...givenBack(tail) } : optionalIn(tail)),
    joined: joinedIn(isOver ? kept.slice(0, last + 1) : kept),
  };
}

function failuresIn(
  operations: readonly Operation[],
  last: number,
  error: SerializedError,
): ReadonlySet<Step> {
  const failed = new Set(stepsOf(operations.slice(Math.max(0, last))).filter(isFailure));
  if ([...failed].some((step) => isSame(errorOf(step), error))) return failed;
  // It may have failed with a child that ended while others were being hired.
  const lastCall = operations.findLastIndex(({ asked }) => asked.some((each) => each.startsWith("call ")));
  const since = stepsOf(operations.slice(lastCall + 1));
  const cause = since.findLast((step) => isFailure(step) && isSame(errorOf(step), error));
  return cause === undefined ? failed : failed.add(cause);
}

function stepsOf(operations: readonly Operation[]): Step[] {
  return operations.flatMap(({ steps }) => steps.filter((step) => step !== null));
}

/** Whether it is a model call, or the end of a child, that failed; or a tool that was stopped, which is no answer of the tool. */
function isFailure(step: Step): boolean {
  const error = errorOf(step);
  if (step.kind !== "call" || step.of === "llm") return error !== undefined;
  return (error as JsonObject | undefined)?.["code"] === ErrorCode.CANCELLED;
}

function errorOf(step: Step): JsonValue | undefined {
  if (step.kind === "hire" || step.kind === "join") return step.outcome["failure"];
  if (step.kind === "spawn") return step.denied === undefined ? undefined : { ...step.denied };
  if (step.kind !== "call") return undefined;
  const { stored } = step.recorded;
  return stored !== undefined && "here" in stored ? stored.here["error"] : undefined;
}

function isSame(one: JsonValue | undefined, other: SerializedError): boolean {
  const { code, message } = (one ?? {}) as JsonObject;
  return code === other.code && message === other.message;
}

function againOf(step: Step): Again {
  if (step.kind !== "call") return { paid: [], attempts: 0, tookMs: step.kind === "hire" ? step.tookMs : 0 };
  const { recorded, failed = [] } = step;
  const { paid, attempt: attempts, isCutOff } = recorded;
  return { paid: [...failed, ...paid], attempts, isCutOff, tookMs: 0 };
}

function optionalIn(tail: readonly Operation[]): Pick<AfterFailure, "optional" | "unread" | "values"> {
  const optional = new Map<string, Step>();
  for (const { asked, steps } of tail) {
    for (const [place, step] of steps.entries()) {
      // A question to a child that has not answered is asked again.
      const isUseful = step !== null && (step.kind !== "ask" || "reply" in step.heard);
      if (isUseful) optional.set(asked[place] ?? "", step);
    }
  }
  return { optional, unread: [], values: new Map() };
}

function givenBack(tail: readonly Operation[]): Pick<AfterFailure, "unread" | "values"> {
  const steps = stepsOf(tail);
  const waits = steps.filter((step) => step.kind === "wait");
  return {
    unread: steps.filter((step) => step.kind === "mail").filter(({ message }) => message !== null),
    values: Map.groupBy(waits, ({ name }) => name),
  };
}

function joinedIn(operations: readonly Operation[]): ReadonlySet<string> {
  return new Set(stepsOf(operations).flatMap((step) => (step.kind === "join" ? [step.child] : [])));
}
