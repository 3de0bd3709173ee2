import { type Estimate, isPromiseLike, type MaybePromise, type Reservation } from "@ravi/kernel";
import type { Linked } from "@ravi/kernel/loop";
import { orLog } from "../or-log.ts";
import type { AttemptOptions } from "./attempt.ts";
import type { Execution } from "./execution.ts";

/** A call that is sent, from the moment on when money is set aside for it until it is settled. */
export class SentCall implements Linked<SentCall> {
  before: SentCall | undefined;
  after: SentCall | undefined;
  readonly options: AttemptOptions;
  readonly estimate: Estimate | undefined;
  readonly reservation: Reservation | undefined;
  /** Its agent is over, and its money is settled: whatever still comes changes nothing. */
  isLeft = false;

  constructor(options: AttemptOptions, estimate: Estimate | undefined, reservation: Reservation | undefined) {
    this.options = options;
    this.estimate = estimate;
    this.reservation = reservation;
  }
}

/**
 * An agent is over while calls of its own are not answered, since their provider does not stop when it is told to. It may charge for
 * them all the same: what was set aside counts as spent, and they are in doubt.
 */
export function leaveSentCalls(
  exec: Execution,
  settle: (exec: Execution, call: SentCall) => MaybePromise<void>,
): Promise<void> | undefined {
  const { sentCalls } = exec;
  if (sentCalls === undefined || sentCalls.isEmpty) return undefined;
  const left: Promise<void>[] = [];
  for (const call of sentCalls.takeAll()) {
    const { scope } = call.options;
    // An engine that counts what is open by itself has no such word.
    if (scope.leave === undefined) continue;
    call.isLeft = true;
    scope.leave();
    // The agent is over, whatever its books say.
    const message = `what ${exec.agentId} has left behind could not be settled`;
    const settled = orLog(exec.ports.logger, "error", message, () => settle(exec, call));
    if (isPromiseLike(settled)) left.push(Promise.resolve(settled));
  }
  return left.length === 0 ? undefined : Promise.all(left).then(() => undefined);
}
