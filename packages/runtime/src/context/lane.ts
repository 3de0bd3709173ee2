import {
  type AgentId,
  CancellationError,
  type ExecId,
  isPromiseLike,
  LaneViolationError,
  type MaybePromise,
} from "@ravi/kernel";
import { reasonOfEnd } from "./bounded-wait.ts";

const OVER = "its end";

/**
 * Lets an execution do one operation at a time. Two concurrent ones would be recorded in the order in which they happen to end, and a
 * replay would give them each other's results.
 */
export class Lane {
  private readonly owner: { readonly agentId: AgentId; readonly execId: ExecId };
  private running: string | undefined;
  private isOver = false;
  private onFree: (() => void) | undefined;
  /** The promise that the agent got for the running operation. */
  private promise: Promise<unknown> | undefined;

  constructor(owner: { readonly agentId: AgentId; readonly execId: ExecId }) {
    this.owner = owner;
  }

  get isBusy(): boolean {
    return this.running !== undefined;
  }
  /** Calls back when the running operation has ended. For the end of an agent that has not awaited it. */
  whenFree(callback: () => void): void {
    this.onFree = callback;
  }

  hold<T>(promise: Promise<T>): Promise<T> {
    this.promise = promise;
    return promise;
  }

  /** Handles a rejection of the running operation, which nobody awaits: when it is cancelled, that must not end the process. */
  ignoreRejection(): void {
    this.promise?.catch(noop);
  }

  get isClosed(): boolean {
    return this.isOver;
  }

  /** Throws a `LaneViolationError` if another operation is running, and a `CancellationError` after the agent's end. */
  enter(what: string): void {
    if (this.running !== undefined) {
      if (this.isOver) throw new CancellationError({ reason: reasonOfEnd(this.owner) });
      throw new LaneViolationError({ execId: this.owner.execId, running: this.running, attempted: what });
    }
    this.running = what;
  }

  leave(): void {
    this.running = this.isOver ? OVER : undefined;
    this.promise = undefined;
    this.onFree?.();
  }

  /** Runs a small operation in the lane, without waiting for a paused agent as `runExclusive` does. */
  within<T>(what: string, operation: () => MaybePromise<T>): MaybePromise<T> {
    this.enter(what);
    let done: MaybePromise<T> | undefined;
    try {
      done = operation();
    } finally {
      if (!isPromiseLike(done)) this.leave();
    }
    return isPromiseLike(done) ? Promise.resolve(done).finally(() => this.leave()) : done;
  }

  /** Called at the agent's end. Nothing more can be done with the context, even if somebody has kept it. */
  close(): void {
    this.isOver = true;
    this.running ??= OVER;
  }
}

function noop(): void {}
