import type { Context, internal, RestatePromise } from "@restatedev/restate-sdk";
import {
  type Agent,
  type BlobStore,
  CancellationError,
  CancellationToken,
  type ContextPorts,
  DeadlineExceededError,
  type ExecutionStart,
  InvalidValueError,
  NonDeterminismError,
  SuspendedError,
} from "@ravi/kernel";
import { json } from "../json.ts";
import { ROOT } from "../names.ts";
import type { Answer, Message, MessageName, Said } from "../root/decide.ts";
import type { FromExec, Left, Settle, Standing, Stopped } from "../root/messages.ts";
import { UsedAccount } from "./account.ts";
import type { Line } from "./line.ts";
import type { Publisher } from "./publisher.ts";

export interface AttemptOptions {
  readonly context: Context;
  readonly start: ExecutionStart;
  readonly line: Line;
  readonly publisher: Publisher;
  readonly ports: ContextPorts;
  readonly blobs: BlobStore | undefined;
  /** Whoever hires somebody can carry it, too. */
  readonly register: (agent: Agent) => void;
}

type Stops = readonly RestatePromise<{ readonly stop: Stopped }>[];

/**
 * One attempt at an execution: what it knows, and how it speaks to its root. What it knows it knows from the journal, so every
 * attempt knows the same.
 */
export class Attempt {
  readonly start: ExecutionStart;
  readonly context: internal.ContextInternal;
  readonly line: Line;
  readonly publisher: Publisher;
  readonly ports: ContextPorts;
  readonly blobs: BlobStore | undefined;
  readonly register: AttemptOptions["register"];
  readonly token = new CancellationToken();
  readonly used = new UsedAccount();
  /** Unwinds the execution while it keeps its place. */
  suspension: SuspendedError | undefined;
  /** What the root has not been told yet. */
  unsettled: readonly (Settle | Left)[] = [];
  hired = 0;
  /** Whom it may join and ask. */
  readonly children = new Set<string>();
  /** Calls of the batch under way that wait for a seat. */
  resting = 0;
  standing: Standing;
  /** What may end its waiting from outside; empty once it did. */
  stops: Stops;

  private constructor(options: AttemptOptions, standing: Standing, stops: Stops) {
    this.start = options.start;
    // The SDK's context is one that knows whether it replays.
    this.context = options.context as internal.ContextInternal;
    this.line = options.line;
    this.publisher = options.publisher;
    this.ports = options.ports;
    this.blobs = options.blobs;
    this.register = options.register;
    this.standing = standing;
    this.stops = stops;
    this.isOver.addEventListener("abort", () => this.abandon(), { once: true });
    this.hearStop(standing);
  }

  /** The first word of an execution to its root: that it is there, and where it can be told to stop. */
  static async open(options: AttemptOptions): Promise<Attempt> {
    const { context, line, start, ports } = options;
    const { execId, deadline } = start;
    const stop = context.awakeable<Stopped>(json());
    const { attemptCompletedSignal } = context.request();
    let isFresh = false;
    const standing = await context.run("enter", async () => {
      isFresh = true;
      const message = { at: ports.clock.now(), execId, stop: stop.id };
      return line.ask("enter", message, attemptCompletedSignal);
    });
    const stops = [stop.promise.map((stopped) => ({ stop: stopped ?? { reason: "no reason given" } }))];
    if (deadline !== null) {
      const late = context.sleep(Math.max(0, deadline - standing.at), "deadline");
      stops.push(late.map(() => ({ stop: { reason: "", deadline } })));
    }
    return new Attempt({ ...options, start: { ...start, isResumed: !isFresh } }, standing, stops);
  }

  /** Aborted when the attempt is over: another one may be under way, and what this one still does is heard by nobody. */
  get isOver(): AbortSignal {
    return this.context.request().attemptCompletedSignal;
  }

  /** What every message of an execution begins with. Its time is recorded, so that a replay sends the same. */
  from(lane: number): FromExec {
    return { at: this.standing.at, execId: this.start.execId, lane, used: this.used.total };
  }

  /** As `from`, with the time of now: for what is said inside of a closure, which is not said again by a replay. */
  fromNow(lane: number): FromExec {
    return { ...this.from(lane), at: this.ports.clock.now() };
  }

  call<N extends MessageName>(name: N, message: Message<N>): RestatePromise<Answer<N>> {
    const serdes = { inputSerde: json<Message<N>>(), outputSerde: json<Answer<N>>() };
    return this.context.genericCall<Message<N>, Answer<N>>({
      ...this.to(name),
      parameter: message,
      ...serdes,
    });
  }

  /** Several of a kind in one message, decided in the order given. */
  callAll<N extends MessageName>(name: N, messages: readonly Message<N>[]): RestatePromise<Answer<N>[]> {
    const said: Said[] = messages.map((message) => ({ name, message }));
    const serdes = { inputSerde: json<{ said: readonly Said[] }>(), outputSerde: json<Answer<N>[]>() };
    return this.context.genericCall<{ said: readonly Said[] }, Answer<N>[]>({
      ...this.to("several"),
      parameter: { said },
      ...serdes,
    });
  }

  send<N extends MessageName>(name: N, message: Message<N>): void {
    this.context.genericSend<Message<N>>({ ...this.to(name), parameter: message, inputSerde: json() });
  }

  /** Tells the root what was spent, where no admission will carry it soon. */
  flush(lane: number): void {
    const { unsettled } = this;
    if (unsettled.length === 0) return;
    this.unsettled = [];
    this.send("settle", { ...this.from(lane), settle: unsettled, isOneWay: true });
  }

  /** What an answer tells beside what was asked. */
  learn({ at, paused, remaining }: Pick<Standing, "at" | "paused" | "remaining">): void {
    this.standing = { ...this.standing, paused, remaining };
    this.learnTime(at);
  }

  /** Who learns that it is late need not wait for the timer to say so, which the server may set off later. */
  learnTime(at: number): void {
    this.standing = { ...this.standing, at };
    const { deadline } = this.start;
    if (deadline !== null && at >= deadline) this.hearStop({ stopped: { reason: "", deadline } });
  }

  hearStop({ stopped }: { readonly stopped?: Stopped | undefined }): void {
    if (stopped === undefined) return;
    this.stops = [];
    const { at } = this.standing;
    this.standing = { ...this.standing, at: Math.max(at, stopped.deadline ?? at) };
    this.token.cancel(cancellationOf(stopped));
  }

  /** Suspends the execution where the journal has something else than what is asked for. */
  expect(requested: string, recorded: string): void {
    if (requested !== recorded) throw this.mismatch({ key: requested, recorded, requested });
  }

  checkChild(child: string): void {
    if (this.children.has(child)) return;
    const expected = `a child of ${this.start.execId}`;
    throw new InvalidValueError({ field: "handle", value: child, expected });
  }

  /** Suspends the execution where it would end while the journal has more of it. */
  expectEnd(): void {
    if (this.context.isProcessing()) return;
    throw this.mismatch({ key: "its end", recorded: "more steps", requested: "none" });
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

function cancellationOf({ reason, deadline }: Stopped): CancellationError {
  return deadline === undefined ? new CancellationError({ reason }) : new DeadlineExceededError({ deadline });
}
