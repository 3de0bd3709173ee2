import {
  type AgentId,
  CancellationError,
  type ExecId,
  isPromiseLike,
  LaneViolationError,
  type MaybePromise,
} from "@ravi/kernel";

const OVER = "its end";

/**
 * The one lane of an execution. Two operations at once would be recorded in the order in which they happen to end, and a replay
 * would hand them each other's results.
 */
export class Lane {
  private readonly whose: { readonly agentId: AgentId; readonly execId: ExecId };
  private running: string | undefined;
  private isOver = false;
  private onFree: (() => void) | undefined;
  /** What the agent was given for the operation that is under way. */
  private promise: Promise<unknown> | undefined;

  constructor(whose: { readonly agentId: AgentId; readonly execId: ExecId }) {
    this.whose = whose;
  }

  /** Whether an operation is under way, and a call when it is not any more. For the end of an agent that awaited too little. */
  get isBusy(): boolean {
    return this.running !== undefined;
  }
  whenFree(callback: () => void): void {
    this.onFree = callback;
  }

  hold<T>(promise: Promise<T>): Promise<T> {
    this.promise = promise;
    return promise;
  }

  /** Nobody awaits the operation that is under way: that it is broken off must not end the process. */
  forgive(): void {
    this.promise?.catch(noop);
  }

  get isClosed(): boolean {
    return this.isOver;
  }

  enter(what: string): void {
    if (this.running !== undefined) {
      const { agentId, execId } = this.whose;
      if (this.isOver) throw new CancellationError({ reason: `${agentId} has ended` });
      throw new LaneViolationError({ execId, running: this.running, attempted: what });
    }
    this.running = what;
  }

  leave(): void {
    this.running = this.isOver ? OVER : undefined;
    this.promise = undefined;
    this.onFree?.();
  }

  /** A small thing that is recorded: no place to give way. */
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

  /** Its agent is over: whoever has kept the context can do nothing more with it. */
  close(): void {
    this.isOver = true;
    this.running ??= OVER;
  }
}

function noop(): void {}
