import type {
  AgentEvent,
  AgentResult,
  CancellationToken,
  DurableEngine,
  Effect,
  ExecId,
  ExecutionStart,
  Heard,
  HireOutcome,
  HireSpec,
  InboxMessage,
  JsonObject,
  JsonValue,
  MaybePromise,
  Operation,
  Remaining,
  RestartPolicy,
  RunHandle,
  Settled,
  Spend,
  SuspendedError,
  WaitSpec,
} from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";
import type { UsedAccount } from "./account.ts";
import type { Attempt } from "./attempt.ts";
import { batch } from "./batch.ts";
import { ending, handleOf, joining } from "./child.ts";
import { hiring } from "./hiring.ts";
import { Lane } from "./lane.ts";
import { pausing } from "./pause.ts";
import { forgetCrashes, restartAfter, type Restarting } from "./restart.ts";
import { checkSize } from "../sizes.ts";
import { awaiting } from "./steps.ts";
import { storedEvent } from "./stored-event.ts";
import { asking, recording, reading, sleeping, waiting } from "./waits.ts";

export interface EngineOptions {
  readonly isWatched: boolean;
  readonly restart: RestartPolicy | undefined;
}

/** The engine of an execution, for one attempt at it. Operations run one after the other in its lane. */
export class RestateEngine implements DurableEngine {
  readonly bare = undefined;
  readonly isDurable = true;
  readonly tellsPauses = true;
  readonly isWatched: boolean;
  readonly attempt: Attempt;
  /** Set if the agent crashed and is to be restarted. */
  restarting: Restarting | undefined;
  private readonly lane: Lane;
  private readonly restart: RestartPolicy | undefined;
  private published = 0;

  constructor(attempt: Attempt, { isWatched, restart }: EngineOptions) {
    this.attempt = attempt;
    this.lane = new Lane(attempt);
    this.isWatched = isWatched;
    this.restart = restart;
    this.token.onCancel(({ reason }) => this.wakeByRoot(reason));
  }

  get start(): ExecutionStart {
    return this.attempt.start;
  }
  get token(): CancellationToken {
    return this.attempt.token;
  }
  get suspension(): SuspendedError | undefined {
    return this.attempt.suspension;
  }
  get used(): UsedAccount {
    return this.attempt.used;
  }
  get isMetered(): boolean {
    return this.attempt.standing.isMetered;
  }
  get raise(): DurableEngine["raise"] {
    return this.isMetered ? (key, more) => this.raiseOnce(key, more) : undefined;
  }

  now(): number {
    return this.attempt.standing.at;
  }
  remaining(): Remaining {
    return this.attempt.standing.remaining;
  }
  isPaused(): boolean {
    return this.attempt.standing.paused;
  }
  whenResumed(): Promise<void> {
    return this.lane.one((lane) => pausing(this.attempt, lane));
  }

  async effect<T>(effect: Effect<T>): Promise<T> {
    return only(await this.all([effect])) as T;
  }
  async hire(spec: HireSpec): Promise<HireOutcome> {
    return only(await this.all([spec])) as HireOutcome;
  }
  all(operations: readonly Operation[]): Promise<readonly Settled[]> {
    return this.lane.operation((lane) => batch(this.attempt, this.lane, lane, operations));
  }

  fact(key: string, make: () => MaybePromise<JsonValue>): Promise<JsonValue> {
    return this.lane.one(() => recording(this.attempt, key, make));
  }
  sleep(key: string, until: number): Promise<void> {
    return this.lane.one(() => sleeping(this.attempt, key, until));
  }
  wait(spec: WaitSpec): Promise<JsonValue> {
    return this.lane.one((lane) => waiting(this.attempt, lane, spec));
  }

  async spawn(spec: HireSpec): Promise<RunHandle> {
    return this.lane.operation(async (lane) => {
      const seats = await this.lane.driveOne(hiring(this.attempt, lane, [spec], "spawn"));
      const denied = seats.get(spec.key)?.denied;
      if (denied !== undefined) throw denied;
      return handleOf(this.attempt, this.lane, spec);
    });
  }
  async join(child: ExecId): Promise<HireOutcome> {
    this.attempt.checkChild(child);
    return this.lane.one((lane) => joining(this.attempt, lane, child));
  }

  async ask(
    key: string,
    child: ExecId,
    content: JsonValue,
    options: Parameters<DurableEngine["ask"]>[3],
  ): Promise<Heard> {
    this.attempt.checkChild(child);
    const { attachments } = options;
    checkSize("ask.message", attachments === undefined ? content : { content, attachments });
    return this.lane.one((lane) => asking(this.attempt, lane, { key, child, content, ...options }));
  }
  /** From the journal alone, so a replay gets the same answers. */
  hasMail(): boolean {
    return this.attempt.hasMail;
  }
  receive(key: string, options: { readonly wait: boolean }): Promise<InboxMessage | null> {
    return this.lane.one((lane) => reading(this.attempt, lane, key, options.wait));
  }
  async reply(_key: string, messageId: string, value: JsonValue): Promise<void> {
    checkSize("reply", value);
    return this.lane.operation(async (lane) => {
      this.attempt.send("reply", { ...this.attempt.from(lane), messageId, value });
    });
  }

  publish(event: AgentEvent): void {
    // An event inside a call is published once. One between calls is published again by a replay, so it has a number by which the
    // repeat is recognised. A tool may report something when its call is over already, but never in a replay.
    const isOfTool = event.type === "progress" && event.callId !== undefined;
    const n = this.lane.isBusy || isOfTool ? null : ++this.published;
    const { publisher, ports } = this.attempt;
    const { supervision, execId } = this.start;
    const { event: stored, problem } = storedEvent(event);
    if (problem !== undefined) tellLog(ports.logger, "warn", `${execId}: ${problem}`);
    publisher.add({ n, at: ports.clock.now(), agentId: supervision.agentId, execId, event: stored });
  }

  checkResult(result: AgentResult): void {
    checkSize(`the result of ${this.start.execId}`, { ...result } as JsonObject);
  }

  async end(outcome: HireOutcome, { isCrash }: { readonly isCrash: boolean }): Promise<void> {
    const { attempt, restart, start } = this;
    if (restart !== undefined && start.supervision.isRoot) {
      const error = isCrash && "error" in outcome ? outcome.error : undefined;
      this.restarting = error === undefined ? undefined : await restartAfter(attempt, restart, error);
      // This end is not recorded. What the agent has done so far is, so the next attempt continues from there.
      if (this.restarting !== undefined && error !== undefined) throw attempt.suspend(error);
      forgetCrashes(attempt, restart);
    }
    if (attempt.hired > 0) await this.lane.one((lane) => ending(attempt, lane));
    else attempt.expectEnd();
  }

  private async raiseOnce(key: string, more: Partial<Spend>): Promise<void> {
    const { attempt } = this;
    await this.lane.one((lane) =>
      awaiting(attempt.call("raise", { ...attempt.from(lane), key, more }), { cut: false }),
    );
  }

  /**
   * The context itself stopped the execution during an operation. What waits there can only be woken by the journal, so the root is
   * asked to do it.
   */
  private wakeByRoot(reason: string): void {
    const { attempt } = this;
    if (!this.lane.isBusy || attempt.stops.length === 0 || attempt.isOver.aborted) return;
    const { execId } = this.start;
    const message = { at: attempt.ports.clock.now(), execId, stopped: { reason }, alone: true };
    void attempt.channel.tell("stop", message, attempt.isOver).catch(() => {});
  }
}

function only([settled]: readonly Settled[]): unknown {
  if (settled?.ok === true) return settled.value;
  throw settled?.error;
}
