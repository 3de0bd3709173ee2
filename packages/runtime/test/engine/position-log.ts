import {
  type AgentEvent,
  CancellationToken,
  DeadlineExceededError,
  type DurableEngine,
  type JsonObject,
  NO_USAGE,
  addUsage,
  NonDeterminismError,
  type RaviError,
  type Remaining,
  type Spent,
} from "@ravi/kernel";
import type { Entry, Execution, World } from "./world.ts";

const UNLIMITED: Remaining = { tokens: null, cost: null, turns: null, toolCalls: null };

/** The journal of one execution, read and written by position, with what its entries have told. */
export class PositionLog {
  readonly start: DurableEngine["start"];
  readonly token = new CancellationToken();
  suspension: RaviError | undefined;
  protected readonly world: World;
  protected readonly own: Execution;
  protected readonly epoch: number;
  private position = 0;
  private due: string | DeadlineExceededError | undefined;
  private running: string | undefined;
  private idle: Promise<void> = Promise.resolve();
  private last: Entry | undefined;
  private sum = { usage: NO_USAGE, costUsd: 0 as number | null };

  constructor(world: World, own: Execution) {
    this.world = world;
    this.own = own;
    this.epoch = world.epoch;
    this.start = { ...own.start, isResumed: own.attempts > 1 };
    const { deadline } = this.start;
    if (deadline !== null) {
      const late = (): void => this.stop(new DeadlineExceededError({ deadline }));
      world.clock.setTimer(late, Math.max(0, deadline - world.clock.now()));
    }
    this.stopIfDue();
  }

  /**
   * A cancellation is a recorded fact too: it has its place among the operations, and a replay hears of it there. One that
   * comes while a replay catches up takes effect at the end of what is on record.
   */
  stop(why: string | DeadlineExceededError): void {
    this.due ??= why;
    if (this.isCaughtUp) this.stopIfDue();
  }

  private get isCaughtUp(): boolean {
    return this.position >= this.own.entries.length;
  }

  private stopIfDue(): void {
    const { own, due } = this;
    const why = own.stopped?.why ?? due;
    if (why === undefined || this.epoch !== this.world.epoch) return;
    if (own.stopped === undefined && this.isCaughtUp) own.stopped = { at: this.position, why };
    if (own.stopped !== undefined && this.position >= own.stopped.at) this.token.cancel(why);
  }

  get isMetered(): boolean {
    return this.own.ledger !== undefined;
  }

  get used() {
    return this.sum;
  }

  now(): number {
    return this.last?.at ?? this.own.startedAt;
  }

  remaining(): Remaining {
    return this.last === undefined
      ? (this.own.ledger?.remaining() ?? UNLIMITED)
      : (JSON.parse(this.last.remaining) as Remaining);
  }

  isPaused(): boolean {
    return this.last?.paused ?? false;
  }

  publish(event: AgentEvent): void {
    const { world, start } = this;
    if (this.epoch !== world.epoch) return;
    const { agentId } = start.supervision;
    const seq = world.events.length + 1;
    world.events.push({ seq, at: world.clock.now(), agentId, execId: start.execId, event });
    world.notify();
  }

  /** One operation after the other, and none of a worker that is dead. */
  protected async lane<T>(what: string, operation: () => Promise<T>): Promise<T> {
    if (this.running !== undefined)
      throw new Error(`${what} was asked for while ${this.running} was under way`);
    this.running = what;
    const done = operation();
    this.idle = done.then(
      () => {},
      () => {},
    );
    try {
      return await done;
    } finally {
      this.running = undefined;
    }
  }

  /** The end of an agent comes after its grace, also if an operation that was cancelled is still about to stop: it waits for that. */
  protected async lastInLane<T>(what: string, operation: () => Promise<T>): Promise<T> {
    while (this.running !== undefined) await this.idle;
    return this.lane(what, operation);
  }

  /** The next place of the journal: read if it is filled, else filled. */
  protected async entry(
    kind: string,
    key: string,
    fingerprint: string,
    make: (lane: number) => Promise<JsonObject>,
    onReplay?: (body: JsonObject) => void,
  ): Promise<JsonObject> {
    const { world, own, epoch } = this;
    const lane = this.position++;
    let entry = own.entries[lane];
    if (
      entry !== undefined &&
      (entry.kind !== kind || entry.key !== key || entry.fingerprint !== fingerprint)
    ) {
      const { execId } = this.start;
      const recorded = `${entry.kind} ${entry.key}`;
      throw (this.suspension ??= new NonDeterminismError({
        execId,
        key,
        recorded,
        requested: `${kind} ${key}`,
      }));
    }
    entry ??= own.entries[lane] = {
      kind,
      key,
      fingerprint,
      body: undefined,
      at: 0,
      paused: false,
      remaining: "",
    };
    if (entry.body === undefined) {
      this.stopIfDue();
      await world.place(epoch);
      const body = JSON.stringify(await make(lane));
      await world.place(epoch);
      entry.at = world.clock.now();
      entry.paused = await world.remote(
        () => world.headcount?.isPaused(this.start.supervision.agentId) ?? false,
      );
      entry.remaining = JSON.stringify(own.ledger?.remaining() ?? UNLIMITED);
      entry.body = body;
      await world.place(epoch);
    } else {
      onReplay?.(JSON.parse(entry.body) as JsonObject);
    }
    this.last = entry;
    this.stopIfDue();
    return JSON.parse(entry.body) as JsonObject;
  }

  protected count({ usage, costUsd }: Spent): void {
    this.sum = {
      usage: addUsage(this.sum.usage, usage),
      costUsd: (this.sum.costUsd ?? 0) + (costUsd ?? 0),
    };
  }

  protected async timer(until: number): Promise<void> {
    const { clock } = this.world;
    // A timer may fire a little early by the clock of the wall.
    for (let left = until - clock.now(); left > 0; left = until - clock.now()) {
      const wait = left;
      await new Promise<void>((resolve) => clock.setTimer(resolve, wait));
    }
  }

  /** The engine races a wait with the cancellation of its execution. */
  protected async orCancelled<T>(promise: Promise<T>): Promise<T> {
    const { promise: stopped, reject } = Promise.withResolvers<never>();
    const unlisten = this.token.onCancel(reject);
    return Promise.race([promise, stopped]).finally(unlisten);
  }
}
