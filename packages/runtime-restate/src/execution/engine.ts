import type { Context, RestatePromise } from "@restatedev/restate-sdk";
import {
  type Agent,
  type AgentEvent,
  type BlobStore,
  CancellationError,
  CancellationToken,
  type ContextPorts,
  DeadlineExceededError,
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
  NonDeterminismError,
  type Operation,
  type Remaining,
  type RunHandle,
  type Settled,
  type Spend,
  type WaitSpec,
} from "@ravi/kernel";
import { json } from "../json.ts";
import { ROOT } from "../names.ts";
import { outcomeFromJSON } from "../outcome.ts";
import type { Answer, Message, MessageName } from "../root/decide.ts";
import type { Settle, Standing, Stopped } from "../root/messages.ts";
import { UsedAccount } from "./account.ts";
import { paying, settledOf } from "./calls.ts";
import { hiring } from "./hiring.ts";
import type { Line } from "./line.ts";
import type { Publisher } from "./publisher.ts";
import { awaiting, drive, type Steps } from "./steps.ts";
import { asking, reading, resting, waiting } from "./waits.ts";

export interface EngineOptions {
  readonly context: Context;
  readonly start: ExecutionStart;
  readonly line: Line;
  readonly publisher: Publisher;
  readonly ports: ContextPorts;
  readonly blobs: BlobStore | undefined;
  readonly isWatched: boolean;
  /** Whoever hires somebody can carry it, too. */
  readonly register: (agent: Agent) => void;
}

/** The engine of one attempt at an execution. What it knows it knows from the journal, so every attempt knows the same. */
export class RestateEngine implements DurableEngine {
  readonly start: ExecutionStart;
  readonly token = new CancellationToken();
  suspension: Error | undefined;
  readonly bare = undefined;
  readonly isDurable = true;
  readonly isWatched: boolean;
  readonly used = new UsedAccount();
  readonly context: Context;
  readonly line: Line;
  readonly ports: ContextPorts;
  readonly blobs: BlobStore | undefined;
  readonly register: EngineOptions["register"];
  /** Counts operations. It is the fence: an admission below the newest one is refused. */
  lane = 0;
  /** What the root has not been told yet. */
  unsettled: readonly Settle[] = [];
  hired = 0;
  private readonly publisher: Publisher;
  private standing: Standing;
  private stops: readonly RestatePromise<{ readonly stop: Stopped }>[];
  private published = 0;
  private busy: Promise<unknown> | undefined;

  private constructor(
    options: EngineOptions,
    standing: Standing,
    stops: readonly RestatePromise<{ readonly stop: Stopped }>[],
  ) {
    this.start = options.start;
    this.context = options.context;
    this.line = options.line;
    this.publisher = options.publisher;
    this.ports = options.ports;
    this.blobs = options.blobs;
    this.register = options.register;
    this.isWatched = options.isWatched;
    this.standing = standing;
    this.stops = stops;
    this.attemptOver.addEventListener("abort", () => this.abandon(), { once: true });
    this.token.onCancel(({ reason }) => this.tellOfOwnStop(reason));
    this.hearStop(standing);
  }

  /** The first word of an execution to its root: that it is there, and where it can be told to stop. */
  static async open(options: EngineOptions): Promise<RestateEngine> {
    const { context, line, start, ports } = options;
    const { execId, deadline } = start;
    const stop = context.awakeable<Stopped>(json());
    const { id: invocation, attemptCompletedSignal } = context.request();
    let isFresh = false;
    const standing = await context.run("enter", async () => {
      isFresh = true;
      const message = { at: ports.clock.now(), execId, invocation, stop: stop.id };
      return line.ask("enter", message, attemptCompletedSignal);
    });
    const stops = [stop.promise.map((stopped) => ({ stop: stopped ?? { reason: "no reason given" } }))];
    if (deadline !== null) {
      const late = context.sleep(Math.max(0, deadline - standing.at), "deadline");
      stops.push(late.map(() => ({ stop: { reason: "", deadline } })));
    }
    return new RestateEngine({ ...options, start: { ...start, isResumed: !isFresh } }, standing, stops);
  }

  get attemptOver(): AbortSignal {
    return this.context.request().attemptCompletedSignal;
  }
  get isMetered(): boolean {
    return this.standing.isMetered;
  }
  get raise(): DurableEngine["raise"] {
    return this.isMetered ? (key, more) => this.raiseOnce(key, more) : undefined;
  }

  now(): number {
    return this.standing.at;
  }
  remaining(): Remaining {
    return this.standing.remaining;
  }
  isPaused(): boolean {
    return this.standing.paused;
  }

  async whenResumed(): Promise<void> {
    await this.one((lane) => resting(this, lane));
  }

  async effect<T>(effect: Effect<T>): Promise<T> {
    const [settled] = await this.all([effect]);
    if (settled?.ok === true) return settled.value as T;
    throw settled?.error;
  }

  /** All seats in order; then every branch is moved by the one loop until the last of them is over. */
  all(operations: readonly Operation[]): Promise<readonly Settled[]> {
    return this.operation(async (lane) => {
      const hires = operations.filter((operation) => operation.kind === "hire");
      const outcomes = hiring(this, lane, hires);
      const seated = await this.drive([outcomes.seats]);
      if (seated[0]?.ok === false) throw seated[0].error;
      const branches = operations.map((operation): Steps<unknown> => {
        if (operation.kind === "hire") return outcomes.of(operation);
        if (operation.kind === "wait") return waiting(this, lane, operation);
        return paying(this, lane, operation);
      });
      const settled = await this.drive(branches);
      if (this.suspension !== undefined) throw this.suspension;
      return Promise.all(
        settled.map(async (one, at) => {
          const operation = operations[at];
          const isCall = operation !== undefined && operation.kind !== "hire" && operation.kind !== "wait";
          return isCall ? settledOf(this, operation, one) : one;
        }),
      );
    });
  }

  async fact(key: string, make: () => MaybePromise<JsonValue>): Promise<JsonValue> {
    const { clock } = this.ports;
    return this.operation(async () => {
      const known = await this.context.run("fact", async () => ({
        key,
        value: await make(),
        at: clock.now(),
      }));
      this.expect(key, known.key);
      this.standing = { ...this.standing, at: known.at };
      return known.value;
    });
  }

  async sleep(key: string, until: number): Promise<void> {
    const { clock } = this.ports;
    await this.one(() =>
      (function* (engine: RestateEngine): Steps<void> {
        for (;;) {
          const look = engine.context.run("sleep", () => ({ key, at: clock.now() }));
          const known = yield* awaiting(look, { cut: false });
          engine.expect(key, known.key);
          engine.standing = { ...engine.standing, at: known.at };
          if (known.at >= until) return;
          yield* awaiting(engine.context.sleep(until - known.at, key), { cut: true });
        }
      })(this),
    );
  }

  wait(spec: WaitSpec): Promise<JsonValue> {
    return this.one((lane) => waiting(this, lane, spec));
  }

  async hire(spec: HireSpec): Promise<HireOutcome> {
    const [settled] = await this.all([spec]);
    if (settled?.ok === true) return settled.value as HireOutcome;
    throw settled?.error;
  }

  async spawn(spec: HireSpec): Promise<RunHandle> {
    return this.operation(async (lane) => {
      const { seats } = hiring(this, lane, [spec], { isSpawn: true });
      const denied = (await this.drove(seats)).get(spec.key)?.denied;
      if (denied !== undefined) throw denied;
      return this.handle(spec);
    });
  }

  join(child: ExecId): Promise<HireOutcome> {
    return this.operation(async (lane) => {
      const over = this.context.awakeable<JsonObject>(json());
      this.send("join", { ...this.from(lane), child, over: over.id });
      return outcomeFromJSON(await this.drove(awaiting(over.promise, { cut: true })));
    });
  }

  ask(
    key: string,
    child: ExecId,
    content: JsonValue,
    options: { readonly timeoutMs: number | undefined },
  ): Promise<Heard> {
    return this.one((lane) => asking(this, lane, { key, child, content, ...options }));
  }

  receive(key: string, options: { readonly wait: boolean }): Promise<InboxMessage | null> {
    return this.one((lane) => reading(this, lane, key, options.wait));
  }

  reply(_key: string, messageId: string, value: JsonValue): Promise<void> {
    return this.operation(async (lane) => {
      this.send("reply", { ...this.from(lane), messageId, value });
    });
  }

  publish(event: AgentEvent): void {
    // What is told inside of a call is told once; what the agent says in its lane is said again by a replay, and has a number.
    const n = this.busy === undefined ? ++this.published : null;
    const { supervision, execId } = this.start;
    const told = JSON.parse(JSON.stringify(event)) as JsonObject;
    this.publisher.add({ n, at: this.ports.clock.now(), agentId: supervision.agentId, execId, event: told });
  }

  async end(): Promise<void> {
    if (this.hired === 0) return;
    await this.operation(async (lane) => {
      const over = this.context.awakeable<null>(json());
      const alone = this.call("end", { ...this.from(lane), awakeable: over.id });
      if (!(await this.drove(awaiting(alone, { cut: false }))).alone) {
        await this.drove(awaiting(over.promise, { cut: false }));
      }
    });
  }

  /** What every message of an execution begins with. Its time is recorded, so that a replay sends the same. */
  from(lane: number): { readonly at: number; readonly execId: string; readonly lane: number } {
    return { at: this.standing.at, execId: this.start.execId, lane };
  }

  call<N extends MessageName>(name: N, message: Message<N>): RestatePromise<Answer<N>> {
    const serdes = { inputSerde: json<Message<N>>(), outputSerde: json<Answer<N>>() };
    return this.context.genericCall<Message<N>, Answer<N>>({
      ...this.to(name),
      parameter: message,
      ...serdes,
    });
  }

  send<N extends MessageName>(name: N, message: Message<N>): void {
    this.context.genericSend<Message<N>>({ ...this.to(name), parameter: message, inputSerde: json() });
  }

  /** What an answer tells beside what was asked. */
  learn({ at, paused, remaining, isMetered }: Standing): void {
    this.standing = { at, paused, remaining, isMetered };
  }

  learnFrom(known: Pick<Standing, "at" | "paused" | "remaining">): void {
    this.learn({ ...known, isMetered: this.standing.isMetered });
  }

  /** Throws where it has been told to stop. */
  hearStop({ stopped }: { readonly stopped?: Stopped | undefined }): void {
    if (stopped === undefined) return;
    this.stops = [];
    this.token.cancel(cancellationOf(stopped));
  }

  expect(requested: string, recorded: string): void {
    if (requested === recorded) return;
    const { execId } = this.start;
    throw this.suspend(new NonDeterminismError({ execId, key: requested, recorded, requested }));
  }

  suspend(why: Error): Error {
    return (this.suspension ??= why);
  }

  handle({ execId, agentId }: Pick<HireSpec, "execId" | "agentId">): RunHandle {
    return {
      runId: this.start.supervision.runId,
      execId,
      agentId,
      status: "running",
      cancel: (reason) => {
        const message = { at: this.standing.at, execId, stopped: { reason } };
        // From inside of a call only the line is to be had; in the lane it is an entry of the journal.
        if (this.busy === undefined) this.send("stop", message);
        else void this.line.tell("stop", message, this.attemptOver).catch(() => {});
      },
    };
  }

  /** Tells the root what was spent, where no admission will carry it soon. */
  flush(): void {
    const { unsettled } = this;
    if (unsettled.length === 0) return;
    this.unsettled = [];
    this.send("settle", { ...this.from(this.lane), settle: unsettled });
  }

  private to(name: MessageName): { service: string; method: string; key: string } {
    return { service: ROOT, method: name, key: this.start.supervision.runId };
  }

  private one<T>(make: (lane: number) => Steps<T>): Promise<T> {
    return this.operation((lane) => this.drove(make(lane)));
  }

  private async drove<T>(steps: Steps<T>): Promise<T> {
    const [settled] = await this.drive([steps]);
    if (this.suspension !== undefined) throw this.suspension;
    if (settled?.ok === true) return settled.value as T;
    throw settled?.error;
  }

  private drive(branches: readonly Steps<unknown>[]): Promise<Settled[]> {
    return drive<Stopped>(branches, {
      promises: () => this.stops,
      heard: (stopped) => {
        this.hearStop({ stopped });
        return this.token.error;
      },
      already: () => (this.stops.length === 0 ? this.token.error : undefined),
    });
  }

  /** One after the other, also where an agent ended in the middle of one: the journal knows only one await at a time. */
  private async operation<T>(act: (lane: number) => Promise<T>): Promise<T> {
    while (this.busy !== undefined) await this.busy.catch(() => {});
    const running = act(++this.lane);
    this.busy = running;
    try {
      return await running;
    } finally {
      this.busy = undefined;
    }
  }

  private async raiseOnce(key: string, more: Partial<Spend>): Promise<void> {
    await this.operation(async (lane) => {
      await this.drove(awaiting(this.call("raise", { ...this.from(lane), key, more }), { cut: false }));
    });
  }

  /** Stopped by the context itself, in the middle of an operation: only the journal can wake what waits there. */
  private tellOfOwnStop(reason: string): void {
    if (this.busy === undefined || this.stops.length === 0 || this.attemptOver.aborted) return;
    const { execId } = this.start;
    const message = { at: this.ports.clock.now(), execId, stopped: { reason }, alone: true };
    void this.line.tell("stop", message, this.attemptOver).catch(() => {});
  }

  /** The attempt is over; another one may be under way. Whatever this one still has in its hands, it lets go. */
  private abandon(): void {
    this.suspension ??= new CancellationError({ reason: "the attempt is over" });
    this.token.cancel("the attempt is over");
  }
}

function cancellationOf({ reason, deadline }: Stopped): CancellationError {
  return deadline === undefined ? new CancellationError({ reason }) : new DeadlineExceededError({ deadline });
}
