import {
  errorFromJSON,
  errorToJSON,
  type SerializedError,
  type AgentEvent,
  type AgentResult,
  type CancellationToken,
  type DurableEngine,
  type Effect,
  type ExecId,
  type ExecutionStart,
  type Heard,
  type HireOutcome,
  type HireSpec,
  type InboxMessage,
  type JsonObject,
  type JsonValue,
  type MaybePromise,
  type Operation,
  type Remaining,
  type RestartPolicy,
  type RunHandle,
  type Settled,
  type Spend,
  type SuspendedError,
  type WaitSpec,
} from "@ravi/kernel";
import { tellLog } from "@ravi/kernel/loop";
import type { UsedAccount } from "./account.ts";
import type { Attempt } from "./attempt.ts";
import { batch } from "./batch.ts";
import { countKept } from "./calls.ts";
import { bodyOf, ending, handleOf, joining, knowChild, readBody } from "./child.ts";
import { goingOn, hiring } from "./hiring.ts";
import type { Recall } from "./kept/recall.ts";
import { keeping } from "./kept/store.ts";
import { Lane } from "./lane.ts";
import { pausing } from "./pause.ts";
import { forgetCrashes, restartAfter, type Restarting } from "./restart.ts";
import { checkSize } from "../sizes.ts";
import { awaiting, type Steps } from "./steps.ts";
import { storedEvent } from "./stored-event.ts";
import { asking, once, recording, reading, sleeping } from "./waits.ts";

/** Its end is still to be told, and its children are to be ended. Numbers may be left out. */
const GAP = 100;

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
  /** Whether another invocation can go on from what it did. */
  isKept = false;
  /** How many events between calls it has told. */
  private published: number;

  constructor(attempt: Attempt, { isWatched, restart }: EngineOptions) {
    this.attempt = attempt;
    this.lane = new Lane(attempt);
    this.published = attempt.before?.published ?? 0;
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
    const { attempt } = this;
    return this.lane.one(() =>
      once(
        attempt,
        "fact",
        key,
        () => recording(attempt, key, make),
        (value) => ({ kind: "fact", value }),
        ({ value }) => value,
      ),
    );
  }
  sleep(key: string, until: number): Promise<void> {
    const { attempt } = this;
    return this.lane.one((lane) =>
      once(
        attempt,
        "sleep",
        key,
        () => sleeping(attempt, lane, key, until),
        () => ({ kind: "sleep" }),
        () => undefined,
      ),
    );
  }
  async wait(spec: WaitSpec): Promise<JsonValue> {
    return only(await this.all([spec])) as JsonValue;
  }

  async spawn(spec: HireSpec): Promise<RunHandle> {
    const { attempt } = this;
    const { key, fingerprint, execId: child } = spec;
    return this.lane.operation(async (lane) => {
      const { operation, known } = attempt.begin([`spawn ${key} ${fingerprint}`]);
      const [before] = known;
      const denied =
        before?.kind === "spawn" ? before.denied : await this.lane.driveOne(spawning(attempt, lane, spec));
      attempt.finish(operation, [{ kind: "spawn", child, denied }]);
      if (denied !== undefined) throw errorFromJSON(denied);
      if (before?.kind === "spawn") {
        knowChild(attempt, spec);
        await this.lane.driveOne(goingOn(attempt, lane, [spec], known));
      }
      return handleOf(attempt, this.lane, spec);
    });
  }
  async join(child: ExecId): Promise<HireOutcome> {
    const { attempt } = this;
    attempt.checkChild(child);
    return this.lane.one((lane) =>
      once(
        attempt,
        "join",
        child,
        () => joining(attempt, lane, child),
        (outcome) => ({ kind: "join", child, outcome: bodyOf(outcome) }),
        ({ outcome }) => readBody(outcome, attempt.children.get(child)),
      ),
    );
  }

  async ask(
    key: string,
    child: ExecId,
    content: JsonValue,
    options: Parameters<DurableEngine["ask"]>[3],
  ): Promise<Heard> {
    const { attempt } = this;
    attempt.checkChild(child);
    const { attachments } = options;
    checkSize("ask.message", attachments === undefined ? content : { content, attachments });
    return this.lane.one((lane) =>
      once(
        attempt,
        "ask",
        key,
        () => asking(attempt, lane, { key, child, content, ...options }),
        (heard) => ({ kind: "ask", heard }),
        ({ heard }) => heard,
      ),
    );
  }
  /** From the journal alone, so a replay gets the same answers. */
  hasMail(key: string): boolean {
    return this.attempt.recall?.hasMail(`mail ${key}`) ?? this.attempt.hasMail;
  }
  receive(key: string, options: { readonly wait: boolean }): Promise<InboxMessage | null> {
    const { attempt } = this;
    return this.lane.one((lane) =>
      once(
        attempt,
        "mail",
        key,
        () => reading(attempt, lane, key, options.wait),
        (message) => ({ kind: "mail", message }),
        ({ message }) => message,
      ),
    );
  }
  async reply(_key: string, messageId: string, value: JsonValue): Promise<void> {
    checkSize("reply", value);
    // It was sent before.
    if (this.attempt.recall?.isSilent === true) return;
    return this.lane.operation(async (lane) => {
      this.attempt.send("reply", { ...this.attempt.from(lane), messageId, value });
    });
  }

  publish(event: AgentEvent): void {
    // It was told before.
    if (this.attempt.recall?.isSilent === true) return;
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
    const { recall } = attempt;
    if (recall !== undefined) {
      attempt.expectCaughtUp();
      attempt.catchUp(recall);
      this.carryOn(recall);
    }
    if (restart !== undefined && start.supervision.isRoot) {
      const error = isCrash && "error" in outcome ? outcome.error : undefined;
      this.restarting = error === undefined ? undefined : await restartAfter(attempt, restart, error);
      // This end is not recorded. What the agent has done so far is, so the next attempt continues from there.
      if (this.restarting !== undefined && error !== undefined) throw attempt.suspend(error);
      forgetCrashes(attempt, restart);
    }
    if (mayGoOn(attempt, outcome)) this.isKept = await this.keep(errorToJSON(outcome.error));
    if (attempt.hired > 0) await this.lane.one((lane) => ending(attempt, lane));
    else attempt.expectEnd();
  }

  /** What it did before, and had not done again when it was stopped, counts and is kept as if it had. */
  private carryOn({ left }: Recall): void {
    const { attempt } = this;
    for (const operation of left) {
      attempt.operations.add(operation);
      for (const step of operation.steps) countKept(attempt, step);
    }
  }

  /** Keeps what it has done, for a retry of its run. What is told and done after this has higher numbers. */
  private keep(error: SerializedError): Promise<boolean> {
    const { attempt } = this;
    const { input, attachments } = attempt.start;
    const head = {
      input,
      ...(attachments !== undefined && { attachments }),
      // If it was stopped before it had done again what it did before, what it had failed with still counts.
      error: attempt.recall?.next === undefined ? error : (attempt.before?.error ?? error),
      at: attempt.beganAt,
      endedAt: this.now(),
      lane: this.lane.number + GAP,
      published: this.published + GAP,
      recorded: attempt.recorded + GAP,
    };
    return this.lane.one(() => keeping(attempt.context, head, attempt.operations));
  }

  private async raiseOnce(key: string, more: Partial<Spend>): Promise<void> {
    const { attempt } = this;
    // It was raised before.
    if (attempt.recall?.isSilent === true) return;
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

/** Whether it goes on if its run is retried: it has failed, or was stopped because another one had ended. */
function mayGoOn(
  { stopped }: Attempt,
  outcome: HireOutcome,
): outcome is Extract<HireOutcome, { readonly error: unknown }> {
  return outcome.status === "failed" || (outcome.status === "cancelled" && stopped?.isOfEnd === true);
}

/** Requests the seat of a child that is spawned. Returns why it is denied, if it is. */
function* spawning(attempt: Attempt, lane: number, spec: HireSpec): Steps<SerializedError | undefined> {
  const denied = (yield* hiring(attempt, lane, [spec], "spawn")).get(spec.key)?.denied;
  return denied === undefined ? undefined : errorToJSON(denied);
}

function only([settled]: readonly Settled[]): unknown {
  if (settled?.ok === true) return settled.value;
  throw settled?.error;
}
