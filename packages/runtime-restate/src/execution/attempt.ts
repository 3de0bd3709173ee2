import type { Context, internal, RestatePromise } from "@restatedev/restate-sdk";
import {
  type Agent,
  type AgentEvent,
  type BlobStore,
  CancellationError,
  CancellationToken,
  type ContextPorts,
  type ExecutionStart,
  InvalidValueError,
  NonDeterminismError,
  type SchemaLike,
  SuspendedError,
} from "@ravi/kernel";
import { json } from "../json.ts";
import { ROOT } from "../names.ts";
import type { Answer, Message, MessageName, NamedMessage } from "../root/decide.ts";
import type { AbandonedCall, Entered, FromExec, Settle, Standing, Stopped } from "../root/messages.ts";
import { stopError } from "../root/stop-error.ts";
import { UsedAccount } from "./account.ts";
import type { ChildSpans } from "./child-spans.ts";
import { answerOf } from "./deleted-run.ts";
import { KeptOperations } from "./kept/operations.ts";
import { Recall } from "./kept/recall.ts";
import type { Kept, Operation, Step } from "./kept/steps.ts";
import type { RootChannel } from "./root-channel.ts";
import type { Publisher, Repeatable } from "./publisher.ts";
import type { CallEntry } from "./record.ts";
import { storedEvent } from "./stored-event.ts";

export interface AttemptOptions {
  readonly context: Context;
  readonly start: ExecutionStart;
  readonly channel: RootChannel;
  readonly publisher: Publisher;
  readonly ports: ContextPorts;
  readonly blobs: BlobStore | undefined;
  /** Makes a hired agent known to this worker, so that it can run the agent too. */
  readonly register: (agent: Agent) => void;
  /** Where its children that this process runs find its span. */
  readonly spans: ChildSpans;
  /** What an earlier invocation of the execution has done, if its run had failed and is retried. */
  readonly before: Kept | undefined;
}

const EARLY_END = { key: "its end", recorded: "more steps", requested: "none" } as const;

type Bell = RestatePromise<{ readonly mail: true }>;
type Stops = readonly RestatePromise<{ readonly stop: Stopped }>[];

/**
 * One attempt at an execution: its state, and its messages to its root. The state comes from the journal, so every attempt has the
 * same.
 */
export class Attempt {
  readonly start: ExecutionStart;
  readonly context: internal.ContextInternal;
  readonly channel: RootChannel;
  readonly publisher: Publisher;
  readonly ports: ContextPorts;
  readonly blobs: BlobStore | undefined;
  readonly register: AttemptOptions["register"];
  readonly spans: ChildSpans;
  readonly token = new CancellationToken();
  readonly used = new UsedAccount();
  /** Set to unwind the execution while it keeps its place at the server. */
  suspension: SuspendedError | undefined;
  /** Settlements that the root has not received yet. */
  unsettled: readonly (Settle | AbandonedCall)[] = [];
  /** How much it has told for the record. */
  recorded = 0;
  /** How much of that the server has, as far as this attempt or the journal knows. A long replay need not send all of it again. */
  recordSent = 0;
  /** How many children it has hired. */
  hired = 0;
  /** The children that it may join and ask, with the schemas of their results. */
  readonly children = new Map<string, SchemaLike | undefined>();
  /** When it hired those that it waits for, by the keys of the hires. */
  readonly hiredAt = new Map<string, number>();
  /** What it has done, for a retry of its run. */
  readonly operations = new KeptOperations();
  /** What an earlier invocation of it has done. */
  readonly recall: Recall | undefined;
  readonly before: Kept | undefined;
  /** Why it was stopped. */
  stopped: Stopped | undefined;
  /** Its standing when it began, and when that was. */
  private readonly entered: Standing;
  /** How many calls of the current batch wait for a seat. */
  waitingForSeat = 0;
  standing: Standing;
  /** Promises that end its waiting from outside; empty once it was stopped. */
  stops: Stops;
  /** Whether a message waits to be read, as far as the journal has told. */
  hasMail: boolean;
  /** Resolves when a message comes; undefined if one is known to wait. */
  bell: Bell | undefined;

  private constructor(
    options: AttemptOptions,
    { hasMail, ...standing }: Entered,
    stops: Stops,
    bell: RestatePromise<null>,
  ) {
    this.start = options.start;
    // The SDK's context is in fact this one, which knows whether it replays.
    this.context = options.context as internal.ContextInternal;
    this.channel = options.channel;
    this.publisher = options.publisher;
    this.ports = options.ports;
    this.blobs = options.blobs;
    this.register = options.register;
    this.spans = options.spans;
    const { before } = options;
    this.before = before;
    this.recall = before === undefined ? undefined : new Recall(before);
    this.recorded = this.recordSent = before?.recorded ?? 0;
    this.entered = standing;
    // While it does what it did before, its time is that of then.
    this.standing = before === undefined ? standing : { ...standing, at: before.at };
    this.stops = stops;
    this.hasMail = hasMail;
    this.bell = hasMail ? undefined : ringing(bell);
    this.isOver.addEventListener("abort", () => this.abandon(), { once: true });
    this.applyStop(standing);
  }

  /** Creates the attempt with its first message to the root: that it runs, and how it can be stopped. */
  static async open(options: AttemptOptions): Promise<Attempt> {
    const { context, channel, start, ports } = options;
    const { execId, deadline } = start;
    const stop = context.awakeable<Stopped>(json());
    const bell = context.awakeable<null>(json());
    const { attemptCompletedSignal } = context.request();
    let isFresh = false;
    const standing = await context.run("enter", async () => {
      isFresh = true;
      const message = { at: ports.clock.now(), execId, stop: stop.id, bell: bell.id };
      return channel.ask("enter", message, attemptCompletedSignal);
    });
    const stops = [stop.promise.map((stopped) => ({ stop: stopped ?? { reason: "no reason given" } }))];
    if (deadline !== null) {
      const late = context.sleep(Math.max(0, deadline - standing.at), "deadline");
      stops.push(late.map(() => ({ stop: { reason: "", deadline } })));
    }
    const isResumed = !isFresh || options.before !== undefined;
    const opened = { ...options, start: { ...start, isResumed } };
    return new Attempt(opened, standing, stops, bell.promise);
  }

  /** Aborted when the attempt is over. Another one may run by then, and nothing receives what this one still does. */
  get isOver(): AbortSignal {
    return this.context.request().attemptCompletedSignal;
  }

  /** When it began for the first time. */
  get beganAt(): number {
    return this.before?.at ?? this.entered.at;
  }

  /**
   * Begins an operation of these steps, and gives what is known of each from an earlier invocation, in its place; null for what is to be
   * made. Suspends the execution if it did something else then.
   */
  begin(asked: readonly string[]): {
    readonly operation: Operation;
    readonly known: readonly (Step | null)[];
  } {
    const { recall } = this;
    const next = recall?.next;
    if (
      next !== undefined &&
      (next.asked.length !== asked.length || next.asked.some((each, at) => each !== asked[at]))
    )
      throw this.mismatch({
        key: asked.join(", "),
        recorded: next.asked.join(", "),
        requested: asked.join(", "),
      });
    const known = recall?.take(asked) ?? asked.map(() => null);
    const operation: Operation = { asked, steps: known, at: this.standing.at };
    this.operations.add(operation);
    if (recall === undefined) return { operation, known };
    if (next !== undefined && recall.isSilent) this.learnTime(next.at);
    if (known.includes(null)) this.catchUp(recall);
    operation.at = this.standing.at;
    return { operation, known };
  }

  /** Notes what came of an operation. */
  finish(operation: Operation, steps: readonly (Step | null)[]): void {
    operation.steps = steps;
    operation.at = this.standing.at;
  }

  /** A time before the run failed, put off by how long it had failed. */
  putOff(at: number): number {
    const { before, entered } = this;
    return before === undefined ? at : at + Math.max(0, entered.at - before.endedAt);
  }

  /** From now on it does what it did not do before. */
  catchUp(recall: Recall): void {
    if (!recall.isSilent) return;
    recall.isSilent = false;
    const { at, paused, remaining } = this.entered;
    this.learn({ at: Math.max(at, this.standing.at), paused, remaining });
  }

  /** The head of every message of an execution. Its time is recorded, so that a replay sends the same. */
  from(lane: number): FromExec {
    // While it does what it did before, it has not counted all of it yet.
    const used = this.recall?.isSilent === true ? undefined : this.used.total;
    return { at: this.standing.at, execId: this.start.execId, lane, used };
  }

  /** Like `from` with the current time, for messages inside a closure, which a replay does not send again. */
  fromNow(lane: number): FromExec {
    return { ...this.from(lane), at: this.ports.clock.now() };
  }

  /** Sends a message to the root through the journal and awaits its answer. */
  call<N extends MessageName>(name: N, message: Message<N>): RestatePromise<Answer<N>> {
    return this.ask(name, message);
  }

  /** Sends several messages of the same kind as one. They are decided in the given order. */
  callAll<N extends MessageName>(name: N, messages: readonly Message<N>[]): RestatePromise<Answer<N>[]> {
    const said: readonly NamedMessage[] = messages.map((message) => ({ name, message }));
    return this.ask("several", { said });
  }

  private ask<A>(name: MessageName | "several", parameter: object): RestatePromise<A> {
    const asked = { ...this.to(name), parameter, inputSerde: json<object>(), outputSerde: json<A>() };
    return this.answered(this.context.genericCall<object, A>(asked));
  }

  /** An answer that the root gives to a message that was sent without one. Rejects if the run was deleted. */
  answered<T>(promise: RestatePromise<T>): RestatePromise<T> {
    const { runId } = this.start.supervision;
    return promise.map((answer, failure) => answerOf(runId, answer, failure));
  }

  /** Sends a message to the root through the journal, without an answer. */
  send<N extends MessageName>(name: N, message: Message<N>): void {
    this.context.genericSend<Message<N>>({ ...this.to(name), parameter: message, inputSerde: json() });
  }

  /** Sends the open settlements to the root, if no admission will carry them soon. */
  flush(lane: number): void {
    const { unsettled } = this;
    if (unsettled.length === 0) return;
    this.unsettled = [];
    this.send("settle", { ...this.from(lane), settle: unsettled, isOneWay: true });
  }

  /** Takes over the time, pause and budget that come with every answer. */
  learn({ at, paused, remaining }: Pick<Standing, "at" | "paused" | "remaining">): void {
    this.standing = { ...this.standing, paused, remaining };
    this.learnTime(at);
  }

  /** Takes over the root's time. If the deadline has passed, the execution stops at once; the server's timer may fire later. */
  learnTime(at: number): void {
    this.standing = { ...this.standing, at };
    const { deadline } = this.start;
    if (deadline !== null && at >= deadline) this.applyStop({ stopped: { reason: "", deadline } });
  }

  /** Takes over whether there is mail. If there is none, `bell` tells of the next message. */
  learnMail(hasMail: boolean, bell: RestatePromise<null> | undefined): void {
    this.hasMail = hasMail;
    this.bell = hasMail || bell === undefined ? undefined : ringing(bell);
  }

  /** Stops the execution if it was told to. */
  applyStop({ stopped }: { readonly stopped?: Stopped | undefined }): void {
    if (stopped === undefined) return;
    this.stopped ??= stopped;
    this.stops = [];
    const { at } = this.standing;
    this.standing = { ...this.standing, at: Math.max(at, stopped.deadline ?? at) };
    this.token.cancel(stopError(stopped));
  }

  /**
   * Tells something for the record. Only what the journal says, and in the same order in every attempt: what was told before is recognised
   * by its number.
   */
  record(event: AgentEvent | CallEntry): void {
    const { execId, supervision } = this.start;
    const n = ++this.recorded;
    if (n <= this.recordSent) return;
    this.publish({ execId, agentId: supervision.agentId }, n, event, {
      isNeeded: () => n > this.recordSent,
      onSent: () => this.learnSent(n),
    });
  }

  /** Takes over how much of the record the server has. */
  learnSent(n: number | undefined): void {
    this.recordSent = Math.max(this.recordSent, n ?? 0);
  }

  /** Tells for the record that a child was denied, which has no attempt that could. */
  recordDenied(child: { readonly execId: string; readonly agentId: string }, ...events: AgentEvent[]): void {
    for (const [before, event] of events.entries()) this.publish(child, before + 1, event);
  }

  private publish(
    { execId, agentId }: { readonly execId: string; readonly agentId: string },
    n: number,
    event: AgentEvent | CallEntry,
    more?: Repeatable,
  ): void {
    const stored = event.type === "call" ? event : storedEvent(event).event;
    this.publisher.add({ n, at: this.standing.at, agentId, execId, event: stored, isRecord: true }, more);
  }

  /** Suspends the execution if the journal has another step than the one that is requested. */
  expect(requested: string, recorded: string): void {
    if (requested !== recorded) throw this.mismatch({ key: requested, recorded, requested });
  }

  /** Throws an `InvalidValueError` if the execution has no such child. */
  checkChild(child: string): void {
    if (this.children.has(child)) return;
    const expected = `a child of ${this.start.execId}`;
    throw new InvalidValueError({ field: "handle", value: child, expected });
  }

  /** Suspends the execution if it would end while the journal has more steps. */
  expectEnd(): void {
    if (!this.context.isProcessing()) throw this.mismatch(EARLY_END);
  }

  /** Suspends the execution if it would end before it has done what an earlier invocation did. One that was stopped may. */
  expectCaughtUp(): void {
    if (this.recall?.next !== undefined && this.token.error === undefined) throw this.mismatch(EARLY_END);
  }

  mismatch(what: Record<"key" | "recorded" | "requested", string>): SuspendedError {
    return this.suspend(new NonDeterminismError({ execId: this.start.execId, ...what }));
  }

  suspend(why: Error): SuspendedError {
    return (this.suspension ??= new SuspendedError({ reason: why.message, cause: why }));
  }

  private to(name: MessageName | "several"): { service: string; method: string; key: string } {
    return { service: ROOT, method: name, key: this.start.supervision.runId };
  }

  private abandon(): void {
    const why = new CancellationError({ reason: "the attempt is over" });
    this.suspend(why);
    this.token.cancel(why);
  }
}

function ringing(bell: RestatePromise<null>): Bell {
  return bell.map(() => ({ mail: true }));
}
