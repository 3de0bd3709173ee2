import { isPromiseLike, type MaybePromise } from "@ravi/kernel";
import { rejected } from "../promises/rejected.ts";
import type { Execution } from "./execution.ts";

type Operation<T, G> = (exec: Execution, given: G, what: string) => MaybePromise<T>;

const TICK = Promise.resolve();

/**
 * Runs an operation of the context: waits while the agent is paused, and refuses it if the run was stopped or another operation is
 * running. Never throws: a failure is a rejected promise. What the operation needs may be passed as `given`, which saves a closure
 * (100 bytes).
 */
export function runExclusive<T>(exec: Execution, what: string, operation: () => MaybePromise<T>): Promise<T>;
export function runExclusive<T, G>(
  exec: Execution,
  what: string,
  operation: Operation<T, G>,
  given: G,
): Promise<T>;
export function runExclusive<T>(
  exec: Execution,
  what: string,
  operation: Operation<T, unknown>,
  given?: unknown,
): Promise<T> {
  try {
    const done = begin(exec, what, operation, given);
    return exec.lane.hold(isPromiseLike(done) ? leaveAfter(exec, done) : leaveNext(exec, done));
  } catch (error) {
    return notBegun(exec, error);
  }
}

/** The rejection of an operation that was not started. After the agent's end nobody may await it: it must not go unhandled then. */
export function notBegun({ lane }: Execution, error: unknown): Promise<never> {
  const promise = rejected(error);
  if (lane.isClosed) promise.catch(() => {});
  return promise;
}

/** Like `runExclusive`, but makes no promise if the operation makes none, and may throw. For callers that do nothing else meanwhile. */
export function runExclusiveAtOnce<T, G>(
  exec: Execution,
  what: string,
  operation: Operation<T, G>,
  given: G,
): MaybePromise<T> {
  const done = begin(exec, what, operation, given);
  if (isPromiseLike(done)) return leaveAfter(exec, done);
  exec.lane.leave();
  return done;
}

/** Enters the lane and starts the operation. If it throws, it has left the lane again. */
export function begin<T, G>(
  exec: Execution,
  what: string,
  operation: Operation<T, G>,
  given: G,
): MaybePromise<T> {
  exec.lane.enter(what);
  try {
    const paused = exec.check();
    return isPromiseLike(paused)
      ? whenResumed(paused, exec, what, operation, given)
      : operation(exec, given, what);
  } catch (error) {
    throw refused(exec, error);
  }
}

function whenResumed<T, G>(
  paused: PromiseLike<void>,
  exec: Execution,
  what: string,
  operation: Operation<T, G>,
  given: G,
): Promise<T> {
  return Promise.resolve(paused).then(() => operation(exec, given, what));
}

function leaveAfter<T>(exec: Execution, done: PromiseLike<T>): Promise<T> {
  return Promise.resolve(done).then(
    (value) => {
      exec.lane.leave();
      return value;
    },
    (error: unknown) => {
      throw refused(exec, error);
    },
  );
}

/**
 * An operation that is done at once stays in its lane until its promise settles. Otherwise two concurrent operations would be accepted
 * if the first is fast, and refused when the run is resumed, because recorded results are never there at once.
 */
function leaveNext<T>(exec: Execution, done: T): Promise<T> {
  return TICK.then(() => {
    exec.lane.leave();
    return done;
  });
}

/** Leaves the lane after a failure, and returns the error. */
export function refused(exec: Execution, error: unknown): unknown {
  exec.noteRefusal(error);
  exec.lane.leave();
  return error;
}
