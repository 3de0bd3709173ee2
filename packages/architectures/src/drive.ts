import {
  type AgentEvent,
  type AgentResult,
  type AgentSession,
  type Architecture,
  CancellationError,
  type Dependencies,
  isRaviError,
  type RunContext,
  type StopReason,
} from "@ravi/kernel";
import { checkSchemas, isStop } from "@ravi/kernel/loop";
import type { Observer } from "./context/observer.ts";
import { findingsOf, landSession } from "./landing.ts";
import { interrupt } from "./session.ts";

export type Driven = AsyncGenerator<AgentEvent, AgentResult, void>;

/**
 * One run of a strategy: its events, and its session read into a result. Whatever cuts it off, the best answer so far is what
 * the run gives, and it is called partial.
 */
export async function* drive(
  architecture: Architecture,
  session: AgentSession,
  deps: Dependencies,
  prompt: string,
): Driven {
  checkSchemas({ owner: "StrategyAgent", tools: deps.tools }, deps.runtime.validator);
  // A session may go on after it was cut off; that was the earlier run's affair.
  session.interrupted = false;
  session.interruptionReason = null;
  session.output = "";
  delete session.metadata["findings"];
  try {
    yield* architecture.run(session, deps, prompt);
  } catch (error) {
    if (!isRaviError(error, "BUDGET_EXHAUSTED")) cutOff(session, await causeOf(error, deps.runtime));
    else
      try {
        await landSession(session, deps);
      } catch (later) {
        // The time may end while the last turn is made.
        cutOff(session, await causeOf(later, deps.runtime));
      }
  }
  return resultOf(session);
}

/** A model's client, and a tool, throw what they like when they are aborted; why they were aborted is what counts. */
async function causeOf(error: unknown, ctx: RunContext): Promise<unknown> {
  if (isStop(error) || !ctx.signal.aborted) return error;
  try {
    await ctx.check();
    return error;
  } catch (stop) {
    return stop;
  }
}

/** The same run, with a span and the entries of an audit around it. A resumed run begins anew there. */
export async function* watched(driven: Driven, observer: Observer, name: string): Driven {
  const watch = await observer.begin("run", name);
  let failure: unknown = new CancellationError({ reason: "whoever read the events went away" });
  try {
    const result = yield* driven;
    failure = undefined;
    watch.span?.setAttribute("status", result.status);
    return result;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    await (failure === undefined ? watch.end() : watch.fail(failure));
  }
}

/** For whoever does not read along. */
export async function driveToEnd(driven: Driven, ctx: RunContext): Promise<AgentResult> {
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

function resultOf({ interrupted, interruptionReason, output }: AgentSession): AgentResult {
  // Nothing said is no success, and neither is a reason that nobody knows.
  if (!interrupted && output.trim() !== "") return { status: "completed", output, stopReason: "done" };
  const stopReason =
    isReason(interruptionReason) && interruptionReason !== "done" ? interruptionReason : "steps";
  return { status: stopReason === "paused" ? "paused" : "partial", output, stopReason };
}

function isReason(reason: string | null): reason is StopReason {
  return reason !== null && REASONS.has(reason);
}

/** A deadline and a pause leave the best answer so far; so does the end of the money in the midst of landing. */
function cutOff(session: AgentSession, error: unknown): void {
  const found = findingsOf(session);
  if (session.output === "" && found !== undefined) session.output = found;
  if (isRaviError(error, "DEADLINE_EXCEEDED")) interrupt(session, "deadline");
  else if (isRaviError(error, "PAUSED")) interrupt(session, "paused");
  else if (isRaviError(error, "BUDGET_EXHAUSTED")) interrupt(session, "budget");
  else throw error;
}
