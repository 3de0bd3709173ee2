import { isPromiseLike, type MaybePromise } from "@ravi/kernel";
import { rejected } from "../rejected.ts";
import type { Execution } from "./execution.ts";

type Operation<T, G> = (exec: Execution, given: G, what: string) => MaybePromise<T>;

const TICK = Promise.resolve();

/**
 * Something that is made and recorded, alone in its lane, and a place to give way. What the operation needs may be given beside it: a
 * closure takes 100 bytes.
 */
export function alone<T>(exec: Execution, what: string, operation: () => MaybePromise<T>): Promise<T>;
export function alone<T, G>(exec: Execution, what: string, operation: Operation<T, G>, given: G): Promise<T>;
export function alone<T>(
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

/** Whoever goes on after the agent's end, and awaits nothing, must not end the process. */
export function notBegun({ lane }: Execution, error: unknown): Promise<never> {
  const promise = rejected(error);
  if (lane.isClosed) promise.catch(() => {});
  return promise;
}

/** The same without a promise where the operation makes none, for one who waits for it before anything else. May throw. */
export function aloneAtOnce<T, G>(
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

/** From there on it is in its lane, unless it throws. */
function begin<T, G>(exec: Execution, what: string, operation: Operation<T, G>, given: G): MaybePromise<T> {
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
 * What is done at once is in its lane until its promise settles, too: two at once are refused however fast the first is. A run that is
 * resumed would refuse them, since what comes from the record does not come at once.
 */
function leaveNext<T>(exec: Execution, done: T): Promise<T> {
  return TICK.then(() => {
    exec.lane.leave();
    return done;
  });
}

function refused(exec: Execution, error: unknown): unknown {
  exec.noteRefusal(error);
  exec.lane.leave();
  return error;
}
