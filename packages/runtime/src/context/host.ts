import {
  type AgentResult,
  type HireOutcome,
  HookEvent,
  InvalidValueError,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type MaybePromise,
  NO_HOOKS,
  type RaviError,
  type Span,
  type StopReason,
  ToolError,
  type ToolErrorInit,
} from "@ravi/kernel";
import { isUnset, messageOf, readResult, tellOwn } from "@ravi/kernel/loop";
import { logOf } from "../run/run-log.ts";
import { andThen } from "../promises/and-then.ts";
import { end, GRACE_MS, abandonCalls } from "./ending.ts";
import type { Execution } from "./execution.ts";
import type { ExecutionInbox } from "./inbox.ts";
import { missingResult } from "./layer-result.ts";
import { AgentCall } from "./level-call.ts";
import { addContent, endSpan, isMeasured, startSpan, within } from "./observe.ts";
import type { Plan } from "./plan.ts";

/**
 * One agent at work, until it ends or is given up. If it was told to stop and does not, it is given up after `GRACE_MS`, with a warning in
 * the log. Its promise may still settle later, but without effect, because its context refuses every operation by then.
 */
export class HostedAgent {
  readonly exec: Execution;
  readonly inbox: ExecutionInbox;
  private readonly startedAt: number;
  private resolve: (outcome: HireOutcome) => void = nobody;
  private reject: (error: unknown) => void = nobody;
  private grace: { cancel(): void } | undefined;
  private unlisten: (() => void) | undefined;
  private isOver = false;

  constructor(exec: Execution, inbox: ExecutionInbox) {
    this.exec = exec;
    this.inbox = inbox;
    // Only hooks need the time.
    this.startedAt = exec.hooks === NO_HOOKS ? 0 : exec.ports.clock.now();
  }

  /**
   * Runs the agent to its end and resolves with its outcome, even if it failed. Rejects only if the run is suspended or the engine fails.
   * Neither callback may throw.
   */
  start(resolve: HostedAgent["resolve"], reject: HostedAgent["reject"]): void {
    const { exec, inbox } = this;
    this.resolve = resolve;
    this.reject = reject;
    begin(exec, inbox.input, this.startedAt);
    // Assigned in two steps, because V8 would otherwise allocate the function in its old generation: see docs/decisions/0012.
    const unlisten = exec.token.onCancel((error) => this.giveGrace(error));
    this.unlisten = unlisten;
    if (exec.span === undefined) this.work();
    else within(exec, exec.span, () => this.work());
  }

  private work(): void {
    const { exec, inbox } = this;
    try {
      const { agent, plan } = exec;
      if (plan.agent !== undefined) return this.runThrough(plan.agent);
      const running: MaybePromise<AgentResult> = agent.run(exec, inbox);
      // An agent in plain JavaScript may return its result without a promise.
      if (!isPromiseLike(running)) return this.done(running);
      running.then(
        (given) => this.done(given),
        (error: unknown) => this.fail(error),
      );
    } catch (error) {
      this.fail(error);
    }
  }

  private runThrough(layers: NonNullable<Plan["agent"]>): void {
    const { exec, inbox } = this;
    const context = new AgentCall(exec, inbox.input);
    const core = (): Promise<void> => {
      const given = context.input === inbox.input ? inbox : inbox.withInput(context.input);
      // An agent in plain JavaScript may return its result without a promise.
      return Promise.resolve(exec.agent.run(exec, given)).then((result) => void (context.result = result));
    };
    Promise.resolve(layers.run(context, core)).then(
      () => (isUnset(context.result) ? this.fail(missingResult("agent")) : this.done(context.result)),
      (error: unknown) => this.fail(error),
    );
  }

  private giveGrace(error: RaviError): void {
    const { exec } = this;
    this.grace ??= exec.ports.clock.setTimer?.(() => {
      logOf(
        exec,
        "warn",
        `${exec.agentId} did not stop within ${GRACE_MS} ms after it was told to; the run no longer waits for it`,
      );
      this.end(outcomeOfError(exec, error));
    }, GRACE_MS);
  }

  private done(given: AgentResult): void {
    try {
      this.end(outcomeOf(this.exec, given));
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    this.end(failureOf(this.exec, error));
  }

  /** Ends the agent; only the first call counts. It must not throw: nobody would catch it, and the caller of `start` would wait forever. */
  private end(given: HireOutcome): void {
    if (this.isOver) return;
    this.isOver = true;
    const { exec, startedAt } = this;
    try {
      this.grace?.cancel();
      this.unlisten?.();
      // A suspended run has no outcome, whatever the agent has returned or thrown.
      const { suspension } = exec.engine;
      if (suspension !== undefined) return this.rejectWhenUnwound(suspension);
      const outcome = withLimit(exec, carried(exec, given));
      const error = "error" in outcome ? outcome.error : undefined;
      endAgentSpan(exec, outcome, error);
      const hasCrashed = error !== undefined && isCrash(error);
      if (!hasCrashed) exec.engine.ending?.();
      const ended = end({ exec, outcome, startedAt, isCrash: hasCrashed });
      if (isPromiseLike(ended)) ended.then(() => this.resolve(outcome), this.reject);
      else this.resolve(outcome);
    } catch (error) {
      this.reject(error);
    }
  }

  /**
   * Rejects with the suspension, but only after the children have stopped: until then, what they pay is still charged to this agent and
   * recorded under it.
   */
  private rejectWhenUnwound(why: unknown): void {
    endSpan(this.exec, this.exec.span, why, { status: "suspended" });
    const left = andThen(this.exec.engine.unwound?.(), () => abandonCalls({ exec: this.exec }));
    if (isPromiseLike(left)) left.then(() => this.reject(why), this.reject);
    else this.reject(why);
  }
}

function nobody(): void {}

/** Reports the start to observers and hooks, and starts the span. */
function begin(exec: Execution, input: string, at: number): void {
  const { isResumed } = exec.engine.start;
  exec.emit({ type: "started", input });
  if (exec.hooks.has(HookEvent.RUN_START))
    tellOwn(exec.hooks, HookEvent.RUN_START, { ...exec.hookBase(isResumed, at), input });
  if (isMeasured(exec)) exec.span = startAgentSpan(exec, input, isResumed);
}

function startAgentSpan(exec: Execution, input: string, isResumed: boolean): Span | undefined {
  const { isRoot, parentId, priority } = exec.supervision;
  const { agent, parentSpan } = exec.engine.start;
  const attributes = {
    priority,
    ...(agent.version !== undefined && { agentVersion: agent.version }),
    ...(parentId !== null && { parentId }),
    ...(isResumed && { replayed: true }),
  };
  const span = startSpan(exec, isRoot ? "ravi.run" : "ravi.hire", attributes, parentSpan);
  addContent(exec, span, () => ({ of: "input", text: input }));
  return span;
}

function endAgentSpan(exec: Execution, outcome: HireOutcome, error: unknown): void {
  if (exec.span === undefined) return;
  const result = "result" in outcome ? outcome.result : undefined;
  if (result !== undefined) addContent(exec, exec.span, () => ({ of: "output", text: result.output }));
  endSpan(exec, exec.span, error, { status: outcome.status, stopReason: result?.stopReason });
}

/** The outcome of an agent that has returned. Throws if its result is invalid, or is no JSON. */
function outcomeOf(exec: Execution, given: AgentResult): HireOutcome {
  const result = readResult(exec.agentId, given);
  checkWritable(exec, result);
  return afterStop(exec, result) ?? { status: result.status, result };
}

function failureOf(exec: Execution, error: unknown): HireOutcome {
  // A provider's client may throw anything when it is aborted; the reason for the abort is what counts.
  return outcomeOfError(exec, exec.token.error ?? error);
}

/** A failure in place of a result that the engine cannot carry, also that of an agent that was cut off. */
function carried(exec: Execution, outcome: HireOutcome): HireOutcome {
  if (!("result" in outcome)) return outcome;
  try {
    exec.engine.checkResult?.(outcome.result);
    return outcome;
  } catch (error) {
    return outcomeOfError(exec, error);
  }
}

/** Adds the limit that stopped the agent, if its stop reason is `budget`. */
function withLimit({ stoppedBy }: Execution, outcome: HireOutcome): HireOutcome {
  const isCutOff = "result" in outcome && outcome.result.stopReason === "budget";
  return isCutOff && stoppedBy !== undefined ? { ...outcome, stoppedBy } : outcome;
}

/** Throws if a durable run cannot record the result. Checked here, it is the agent's failure; later it would be the journal's. */
function checkWritable({ engine, agentId }: Execution, { structured }: AgentResult): void {
  if (structured === undefined || !engine.isDurable) return;
  try {
    JSON.stringify(structured);
  } catch (cause) {
    const expected = `plain JSON, so that the journal can record it (${messageOf(cause)})`;
    throw new InvalidValueError({
      field: `${agentId}: result.structured`,
      value: structured,
      expected,
      cause,
    });
  }
}

/**
 * The outcome of an agent that returned although it was told to stop: cancelled if the run was cancelled, partial if it was late. Undefined
 * if its result stands.
 */
function afterStop(exec: Execution, result: AgentResult): HireOutcome | undefined {
  const { error } = exec.token;
  if (error === undefined) return undefined;
  if (error.code === "CANCELLED") return { status: "cancelled", error };
  if (result.status !== "completed") return undefined;
  return { status: "partial", result: { ...result, status: "partial", stopReason: "deadline" } };
}

/** The outcome for an error that the agent has not caught. A budget or a deadline cuts the agent off, which is not a failure. */
function outcomeOfError(exec: Execution, error: unknown): HireOutcome {
  const output = exec.drafted ?? exec.history.lastText;
  const cutOff = (stopReason: StopReason): HireOutcome => ({
    status: "partial",
    result: { status: "partial", output, stopReason },
  });
  exec.noteRefusal(error);
  if (isRaviError(error, "BUDGET_EXHAUSTED")) return cutOff("budget");
  if (isRaviError(error, "DEADLINE_EXCEEDED")) return cutOff("deadline");
  if (isRaviError(error, "PAUSED")) {
    return { status: "paused", result: { status: "paused", output, stopReason: "paused" } };
  }
  const known: RaviError = isRaviError(error)
    ? error
    : crashed({
        toolName: exec.agentId,
        message: `${exec.agentId} failed: ${messageOf(error)}`,
        cause: error,
      });
  return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
}

const crashes = new WeakSet<RaviError>();

/** Whether the agent's own code threw, and not a rule, a provider or a tool. */
export function isCrash(error: RaviError): boolean {
  return crashes.has(error);
}

function crashed(init: ToolErrorInit): ToolError {
  const error = new ToolError(init);
  crashes.add(error);
  return error;
}
