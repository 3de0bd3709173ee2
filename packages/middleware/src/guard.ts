import {
  type AgentRunContext,
  type ChatContext,
  type FunctionContext,
  type HookBase,
  type MaybePromise,
  AgentId,
  errorToJSON,
  HookEvent,
  InvalidValueError,
  isPromiseLike,
  MiddlewareTermination,
  SessionId,
} from "@ravi/kernel";
import { isStop, messageOf, tellTermination } from "@ravi/kernel/loop";

export type AnyContext = AgentRunContext | ChatContext | FunctionContext;

/** What a guard does when it breaks itself. `block` is the default everywhere: a broken guard guards nothing. */
export type OnGuardError = "block" | "allow";

export interface GuardOptions {
  readonly layer: string;
  readonly context: AnyContext;
  readonly onError: OnGuardError;
}

/** Who, where and when, for any hook. */
export function hookBase(context: AnyContext): HookBase {
  const { meta } = context;
  return {
    agentName: context.agentName,
    agentId: meta.supervision?.agentId ?? AgentId(context.agentName),
    runId: meta.runId,
    execId: meta.execId,
    sessionId:
      "sessionId" in context
        ? // As it is: of a malformed one its guard has to tell.
          (context.sessionId as SessionId)
        : (meta.supervision?.sessionId ?? SessionId(meta.runId)),
    at: context.clock.now(),
  };
}

/** Tells whoever listens that a guard tripped, where it does not stop the run. */
export function tellTrip(context: AnyContext, layer: string, reason: string): void {
  if (!context.hooks.has(HookEvent.GUARDRAIL_TRIP)) return;
  // Never throws, and nobody on this path waits for a listener.
  void context.hooks.dispatch(HookEvent.GUARDRAIL_TRIP, { ...hookBase(context), layer, reason });
}

/** Tells whoever listens that a model call is made once more. */
export function tellRetry(context: AnyContext, attempt: number, delayMs: number, error: unknown): void {
  if (!context.hooks.has(HookEvent.RETRY)) return;
  const about = { attempt, delayMs, error: errorToJSON(error) };
  void context.hooks.dispatch(HookEvent.RETRY, { ...hookBase(context), ...about });
}

/** Stops the run: tells of it and throws. */
export function trip(context: AnyContext, layer: string, reason: string, cause?: unknown): never {
  const stop = new MiddlewareTermination({ layer, reason, cause });
  tellTermination(context.hooks, stop, () => hookBase(context));
  throw stop;
}

/**
 * Asks a guard, which gives the reason why not, or undefined. A check that fails counts as a violation unless `onError` is
 * "allow"; a stop of the run itself (cancelled, out of budget) passes as what it is.
 */
export function ask(
  options: GuardOptions,
  check: () => MaybePromise<string | undefined>,
): MaybePromise<string | undefined> {
  try {
    const answer = check();
    return isPromiseLike(answer)
      ? Promise.resolve(answer).then(undefined, (error: unknown) => broken(options, error))
      : answer;
  } catch (error) {
    return broken(options, error);
  }
}

function broken({ onError }: GuardOptions, error: unknown): string | undefined {
  if (isStop(error)) throw error;
  return onError === "allow" ? undefined : `the guard itself failed: ${messageOf(error)}`;
}

/** Asks a guard and stops the run on a violation. A promise only where the check gives one. */
export function enforce(
  options: GuardOptions,
  check: () => MaybePromise<string | undefined>,
): MaybePromise<void> {
  const settle = (reason: string | undefined): void => {
    if (reason !== undefined) trip(options.context, options.layer, reason);
  };
  const answer = ask(options, check);
  return isPromiseLike(answer) ? answer.then(settle) : settle(answer);
}

export function checkOnError(field: string, value: unknown): OnGuardError {
  if (value === undefined) return "block";
  if (value === "block" || value === "allow") return value;
  throw new InvalidValueError({ field, value, expected: '"block" or "allow"' });
}
