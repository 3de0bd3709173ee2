import {
  type AgentRunContext,
  type ChatContext,
  type FunctionContext,
  type HookBase,
  type MaybePromise,
  AgentId,
  errorToJSON,
  HookEvent,
  isPromiseLike,
  MiddlewareTermination,
  SessionId,
} from "@ravi/kernel";
import { isStop, messageOf, tellTermination } from "@ravi/kernel/loop";
import { checkWord } from "./common/options.ts";

export type AnyContext = AgentRunContext | ChatContext | FunctionContext;

/**
 * What happens if a guard itself fails: it blocks, or lets the call pass. The default is "block" everywhere, because a broken
 * guard guards nothing.
 */
export type OnGuardError = "block" | "allow";

export interface GuardOptions {
  readonly layer: string;
  readonly context: AnyContext;
  readonly onError: OnGuardError;
}

/** The fields that every hook payload has: agent, run, session and time. */
export function hookBase(context: AnyContext): HookBase {
  const { meta } = context;
  return {
    agentName: context.agentName,
    agentId: meta.supervision?.agentId ?? AgentId(context.agentName),
    runId: meta.runId,
    execId: meta.execId,
    sessionId:
      "sessionId" in context
        ? // Unchecked: its guard has to report a malformed id.
          (context.sessionId as SessionId)
        : (meta.supervision?.sessionId ?? SessionId(meta.runId)),
    at: context.clock.now(),
  };
}

/** Reports to the hooks that a guard tripped without stopping the run. */
export function reportTrip(context: AnyContext, layer: string, reason: string): void {
  if (!context.hooks.has(HookEvent.GUARDRAIL_TRIP)) return;
  // `dispatch` never throws, and listeners are not awaited here.
  void context.hooks.dispatch(HookEvent.GUARDRAIL_TRIP, { ...hookBase(context), layer, reason });
}

/** Reports to the hooks that a model call is tried again. */
export function reportRetry(context: AnyContext, attempt: number, delayMs: number, error: unknown): void {
  if (!context.hooks.has(HookEvent.RETRY)) return;
  const about = { attempt, delayMs, error: errorToJSON(error) };
  void context.hooks.dispatch(HookEvent.RETRY, { ...hookBase(context), ...about });
}

/** Stops the run: reports it to the hooks and throws a `MiddlewareTermination`. */
export function trip(context: AnyContext, layer: string, reason: string, cause?: unknown): never {
  const stop = new MiddlewareTermination({ layer, reason, cause });
  tellTermination(context.hooks, stop, () => hookBase(context));
  throw stop;
}

/**
 * Runs a guard's check, which returns the reason to refuse, or undefined. If the check throws, that counts as a violation unless
 * `onError` is "allow". An error that stops the run (cancelled, out of budget) is thrown on.
 */
export function runCheck(
  options: GuardOptions,
  check: () => MaybePromise<string | undefined>,
): MaybePromise<string | undefined> {
  try {
    const answer = check();
    return isPromiseLike(answer)
      ? Promise.resolve(answer).then(undefined, (error: unknown) => onCheckFailed(options, error))
      : answer;
  } catch (error) {
    return onCheckFailed(options, error);
  }
}

function onCheckFailed({ onError }: GuardOptions, error: unknown): string | undefined {
  if (isStop(error)) throw error;
  return onError === "allow" ? undefined : `the guard itself failed: ${messageOf(error)}`;
}

/** Runs a guard's check and stops the run on a violation. Returns a promise only if the check does. */
export function enforce(
  options: GuardOptions,
  check: () => MaybePromise<string | undefined>,
): MaybePromise<void> {
  const tripOnReason = (reason: string | undefined): void => {
    if (reason !== undefined) trip(options.context, options.layer, reason);
  };
  const answer = runCheck(options, check);
  return isPromiseLike(answer) ? answer.then(tripOnReason) : tripOnReason(answer);
}

export function checkOnError(field: string, value: unknown): OnGuardError {
  return value === undefined ? "block" : checkWord(field, value, ["block", "allow"]);
}
