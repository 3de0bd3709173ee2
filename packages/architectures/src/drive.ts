import {
  type AgentEvent,
  type AgentResult,
  type AgentSession,
  type Architecture,
  CancellationError,
  type Dependencies,
  InvalidValueError,
  isRaviError,
  type RunContext,
  type StopReason,
} from "@ravi/kernel";
import { checkSchemas, checkText, isStop } from "@ravi/kernel/loop";
import type { Observer } from "./context/observer.ts";
import { findingsOf, landSession } from "./landing.ts";
import { interrupt } from "./session.ts";

export type StrategyEvents = AsyncGenerator<AgentEvent, AgentResult, void>;

/**
 * One run of a strategy: yields its events and returns the result read from its session. If it is cut off, the result is the best answer so
 * far, with the status `partial` (or `paused`).
 */
export async function* drive(
  architecture: Architecture,
  session: AgentSession,
  deps: Dependencies,
  prompt: string,
): StrategyEvents {
  checkSchemas({ owner: "StrategyAgent", tools: deps.tools }, deps.runtime.validator);
  // The session may continue after it was cut off; that concerns the earlier run only.
  session.interrupted = false;
  session.interruptionReason = null;
  session.output = "";
  delete session.metadata["findings"];
  delete session.metadata["problem"];
  try {
    yield* eventsOf(architecture, session, deps, prompt);
  } catch (error) {
    if (!isRaviError(error, "BUDGET_EXHAUSTED")) cutOff(session, await causeOf(error, deps.runtime));
    else
      try {
        await landSession(session, deps);
      } catch (later) {
        // The time may run out during the last turn.
        cutOff(session, await causeOf(later, deps.runtime));
      }
  }
  return resultOf(session);
}

/** A strategy in plain JavaScript may return anything, most likely a promise: an `async run` without its star. */
function eventsOf(
  architecture: Architecture,
  session: AgentSession,
  deps: Dependencies,
  prompt: string,
): AsyncGenerator<AgentEvent, void> {
  const events = architecture.run(session, deps, prompt);
  if (hasIterator(events)) return events;
  const field = `${architecture.name}.run(session, deps, prompt)`;
  throw new InvalidValueError({ field, value: events, expected: "an async generator (async *run)" });
}

function hasIterator(value: unknown): boolean {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** Aborted models and tools throw all kinds of errors; returns the reason why they were aborted instead. */
async function causeOf(error: unknown, ctx: RunContext): Promise<unknown> {
  if (isStop(error) || !ctx.signal.aborted) return error;
  try {
    await ctx.check();
    return error;
  } catch (stop) {
    return stop;
  }
}

/** The same run with a span and audit entries around it. A resumed run makes them again. */
export async function* observed(driven: StrategyEvents, observer: Observer, name: string): StrategyEvents {
  const observation = await observer.begin("run", name);
  let failure: unknown = new CancellationError({ reason: "the reader of the events stopped reading" });
  try {
    const result = yield* driven;
    failure = undefined;
    observation.span?.setAttribute("status", result.status);
    return result;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await (failure === undefined ? observation.end() : observation.fail(failure));
  }
}

/** Runs to the end without a reader; the events go to the context. */
export async function driveToEnd(driven: StrategyEvents, ctx: RunContext): Promise<AgentResult> {
  for (;;) {
    const { done, value } = await driven.next();
    if (done === true) return value;
    ctx.emit(value);
  }
}

const REASONS: ReadonlySet<string> = new Set<StopReason>([
  "done",
  "budget",
  "deadline",
  "steps",
  "length",
  "refused",
  "filtered",
  "loop",
  "invalid",
  "failed",
  "paused",
]);

function resultOf({ interrupted, interruptionReason, output, metadata }: AgentSession): AgentResult {
  checkText("session.output", output);
  // An empty answer is no success, and neither is an unknown reason.
  if (!interrupted && output.trim() !== "") return { status: "completed", output, stopReason: "done" };
  const stopReason =
    isReason(interruptionReason) && interruptionReason !== "done" ? interruptionReason : "steps";
  const status = stopReason === "paused" ? "paused" : "partial";
  const { problem } = metadata;
  const isSaid = stopReason === "invalid" && typeof problem === "string";
  return { status, output, stopReason, ...(isSaid && { problem }) };
}

function isReason(reason: string | null): reason is StopReason {
  return reason !== null && REASONS.has(reason);
}

/**
 * After a deadline, a pause, or a budget that ended during the last turn, the best answer so far is kept. Other errors are
 * thrown.
 */
function cutOff(session: AgentSession, error: unknown): void {
  const found = findingsOf(session);
  if (session.output === "" && found !== undefined) session.output = found;
  if (isRaviError(error, "DEADLINE_EXCEEDED")) interrupt(session, "deadline");
  else if (isRaviError(error, "PAUSED")) interrupt(session, "paused");
  else if (isRaviError(error, "BUDGET_EXHAUSTED")) interrupt(session, "budget");
  else throw error;
}
