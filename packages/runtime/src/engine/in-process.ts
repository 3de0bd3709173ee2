import {
  type AgentEvent,
  type CancellationToken,
  type Clock,
  type DurableEngine,
  type EffectScope,
  type ExecId,
  type ExecutionStart,
  type Heard,
  type HireOutcome,
  type HireSpec,
  type InboxMessage,
  type JsonObject,
  type JsonValue,
  type Ledger,
  type MaybePromise,
  NonDeterminismError,
  type Operation,
  type RaviError,
  type Remaining,
  type RunHandle,
  type Settled,
  type Spend,
  type Tally,
  type WaitSpec,
} from "@ravi/kernel";
import { andThen } from "../promises/and-then.ts";
import { hostAgent } from "../context/host-agent.ts";
import { inThisScope, withScope } from "../scope.ts";
import type { Account } from "../tree/accounts.ts";
import { recordedWaits } from "../tree/recorded-waits.ts";
import { NOTHING_SPENT } from "../tree/spends.ts";
import { UnreplayedSpend } from "../tree/unreplayed-spend.ts";
import type { Answer } from "../tree/signals.ts";
import type { Tree } from "../tree/tree.ts";
import { Children } from "./children.ts";
import { cutOffOf, type Decisions } from "@ravi/kernel/loop";
import { armDeadline } from "./deadline.ts";
import { accountStatus } from "./hire-record.ts";
import { InProcessScope } from "./effect-scope.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Recordable } from "./recordable.ts";
import { type Recorded, Recorder } from "./recorder.ts";
import { Replay, type Replaying } from "./replay.ts";
import { Seat } from "./seat.ts";
import { runAll } from "./run-all.ts";
import { delay, orStopped } from "./waiting.ts";

/** What the engine of one execution is made with. */
export interface InProcessOptions {
  readonly tree: Tree;
  readonly start: ExecutionStart;
  readonly token: CancellationToken;
  readonly ledger: Ledger | undefined;
  /** The account that was opened with the hire. Absent for the root, whose account is opened here. */
  readonly account?: Account | undefined;
}

/** A shorter sleep is not worth an entry in the journal. */
const LISTED_MS = 60_000;

const UNLIMITED: Remaining = Object.freeze({ tokens: null, cost: null, turns: null, toolCalls: null });

/** Carries one execution in this process, with the journal of its tree or without one. It finds recorded steps by their keys. */
export class InProcessEngine implements DurableEngine, Recorded, Replaying {
  readonly start: ExecutionStart;
  readonly token: CancellationToken;
  readonly tree: Tree;
  readonly ledger: Ledger | undefined;
  readonly account: Account;
  readonly bare: Tally | undefined;
  // Made when they are first needed: a bare execution that hires nobody and waits for nothing needs neither.
  private lazyRecorder: Recorder | undefined;
  private lazyChildren: Children | undefined;
  private readonly seat: Seat | undefined;
  private lazyUnreplayed: UnreplayedSpend | undefined;
  /** How often the agent has asked in vain whether it has mail, since this entry. */
  private mailAsks = 0;
  private askedAfter = 0;
  private disarmDeadline: (() => void) | undefined;

  constructor({ tree, start, token, ledger, account }: InProcessOptions) {
    const { execId, supervision } = start;
    this.tree = tree;
    this.start = start;
    this.token = token;
    this.ledger = ledger;
    const opened = account ?? tree.accounts.open(supervision.agentId, execId, supervision.priority);
    this.account = opened.describe(supervision);
    const isBare = tree.journal === undefined && tree.headcount === undefined && ledger === undefined;
    this.bare = isBare ? this.account : undefined;
    this.seat = tree.headcount === undefined ? undefined : new Seat(this, tree.headcount);
  }

  get hasRecord(): boolean {
    const { recording } = this.tree;
    const { execId } = this.start;
    if (recording === undefined) return false;
    if (recording.isRestart || !recording.of(execId).isEmpty) return true;
    return recordedWaits(recording).some((wait) => wait.execId === execId);
  }

  get runToken(): CancellationToken {
    return this.tree.runToken;
  }

  get recorder(): Recorder {
    return (this.lazyRecorder ??= new Recorder(this, this.tree.journal, this.newReplay()));
  }

  /** Undefined if the run is not a resumed one. */
  get replay(): Replay | undefined {
    return this.tree.recording === undefined ? undefined : this.recorder.replay;
  }

  private newReplay(): Replay | undefined {
    const recording = this.tree.recording?.of(this.start.execId);
    return recording === undefined ? undefined : new Replay(this, recording);
  }

  /**
   * Runs the agent to its end, for a caller that makes a promise of its own: one less is 0.3 kB less. The caller then calls `over`.
   * Neither callback may throw. Never throws itself: also what fails before the agent runs is a rejection.
   */
  begin(resolve: (outcome: HireOutcome) => void, reject: (error: unknown) => void): void {
    const { tree, token, start, clock } = this;
    try {
      const recording = tree.recording?.of(start.execId);
      this.disarmDeadline = armDeadline({ clock, token, deadline: start.deadline, recording });
      this.account.status = "running";
      if (!tree.ambientScope) return this.host(resolve, reject);
      // What comes after the agent's end is not in its scope.
      const outside = inThisScope();
      const ended = (outcome: HireOutcome): void => outside(resolve, outcome);
      const failed = (error: unknown): void => outside(reject, error);
      withScope(start.scope, () => this.host(ended, failed));
    } catch (error) {
      reject(error);
    }
  }

  private host(resolve: (outcome: HireOutcome) => void, reject: (error: unknown) => void): void {
    hostAgent(this, this.tree.ports).start(resolve, reject);
  }

  /** Called when the agent has come to its end. There is no outcome if `begin` rejected: the run is suspended, or the engine has failed. */
  over(outcome: HireOutcome | undefined): void {
    const { tree, account } = this;
    const { execId } = this.start;
    this.disarmDeadline?.();
    if (outcome !== undefined) {
      account.status = accountStatus(outcome);
      account.cutOff = cutOffOf(outcome);
      tree.endBelow(execId);
    } else {
      account.status = tree.suspension === undefined ? "failed" : "suspended";
    }
    tree.dropMail(execId);
  }

  /** Undefined if the ledger cannot be raised. */
  get raise(): DurableEngine["raise"] {
    const { ledger } = this;
    return ledger?.raise === undefined ? undefined : (key, more) => this.raiseOnce(ledger, key, more);
  }

  get mailbox(): Mailbox {
    return this.tree.mailboxOf(this.start.execId);
  }
  get children(): Children {
    return (this.lazyChildren ??= new Children(this));
  }
  get clock(): Clock {
    return this.tree.ports.clock;
  }
  get suspension(): Error | undefined {
    return this.tree.suspension;
  }
  get stopped(): Error | undefined {
    return this.tree.suspension ?? this.token.error;
  }
  get isDraining(): boolean {
    return this.tree.drain !== undefined;
  }
  get held(): Promise<never> | undefined {
    return this.tree.drain?.hold(this);
  }
  callBegun(): void {
    this.tree.callsUnderWay++;
  }
  callEnded(): void {
    this.tree.callsUnderWay--;
    this.tree.drain?.callEnded();
  }
  get decisions(): Decisions {
    return this.tree.decisions;
  }
  get isDurable(): boolean {
    return this.tree.journal !== undefined;
  }
  get isMetered(): boolean {
    return this.ledger !== undefined;
  }
  get isWatched(): boolean {
    return this.tree.events.isWatched;
  }
  get used(): Account {
    return this.account;
  }

  now(): number {
    return this.replay?.now() ?? this.clock.now();
  }

  remaining(): Remaining {
    const left = this.reservable();
    const { recording } = this.tree;
    if (recording === undefined || this.replay?.isCatchingUp !== true) return left;
    // The restored ledger already contains everything on record. What the agent has not asked for again was not spent yet when it
    // first asked for its budget, so it is added back.
    this.lazyUnreplayed ??= new UnreplayedSpend(recording, this.start.execId);
    return this.lazyUnreplayed.addTo(left, this.ledger?.overrun?.() ?? NOTHING_SPENT);
  }

  reservable(): Remaining {
    return this.ledger?.remaining() ?? UNLIMITED;
  }

  isPaused(n: number): MaybePromise<boolean> {
    return this.seat?.isPaused(n) ?? false;
  }

  async whenResumed(): Promise<void> {
    await this.seat?.whenResumed();
  }

  /** Also for hires, which are recorded like effects. */
  effect<T>(effect: Recordable<T>): MaybePromise<T> {
    return this.recorder.effect(effect);
  }

  scopeFor(key: string, attempt: number): EffectScope {
    return new InProcessScope(this, key, attempt);
  }

  suspendFor(why: RaviError): never {
    // A stopped agent may well behave differently, and of a cancelled run nobody is asked anything.
    throw this.stopped ?? this.tree.suspend(why.message, why);
  }

  /** `largest: null`, because it says nothing about the size of the agent's next model call. */
  async countDecided(): Promise<void> {
    await this.ledger?.charge({ toolCalls: 1 }, { largest: null });
  }

  noteDoubt(key: string): void {
    this.tree.inDoubt.add(`${this.start.execId}:${key}`);
  }

  /** The body of the begin entry; undefined if there is none, or if the run is not a resumed one. */
  recordedBegin(key: string): JsonObject | undefined {
    return this.replay?.recordedBegin(key);
  }

  all(operations: readonly Operation[]): MaybePromise<readonly Settled[]> {
    return runAll(this, operations);
  }

  fact(key: string, make: () => MaybePromise<JsonValue>): MaybePromise<JsonValue> {
    return this.recorder.fact(key, make);
  }

  async sleep(key: string, until: number): Promise<void> {
    const { recorder, clock } = this;
    const time = Number(await recorder.fact(key, () => until));
    // If something is on record after it, the agent has slept to the end.
    if (this.replay?.isCatchingUp === true) return;
    const unlist = time - clock.now() < LISTED_MS ? undefined : this.listTimer(key, time);
    try {
      // A timer may fire a little before the clock shows that time.
      for (let left = time - clock.now(); left > 0; left = time - clock.now()) {
        await orStopped(this, delay(clock, left));
      }
    } finally {
      unlist?.();
    }
  }

  async wait(spec: WaitSpec): Promise<JsonValue> {
    const answer = await this.recorder.fact(spec.key, () => this.nextSignal(spec));
    return (answer as Answer).value;
  }

  hire(spec: HireSpec): Promise<HireOutcome> {
    return this.children.hire(spec);
  }
  spawn(spec: HireSpec): Promise<RunHandle> {
    return this.children.spawn(spec);
  }
  join(child: ExecId): Promise<HireOutcome> {
    return this.children.join(child);
  }
  ask(
    key: string,
    child: ExecId,
    message: JsonValue,
    options: Parameters<DurableEngine["ask"]>[3],
  ): Promise<Heard> {
    return this.children.ask(key, child, message, options);
  }
  /** The agent may go on after its journal has failed. Nobody is told of its result, nor is its conversation stored, before it is resumed. */
  checkResult(): void {
    this.tree.journal?.check();
  }
  end(outcome: HireOutcome, { isCrash }: { readonly isCrash: boolean }): MaybePromise<void> {
    return this.lazyChildren?.end(isCrash && "error" in outcome ? outcome.error : undefined);
  }
  ending(): void {
    if (this.start.supervision.isRoot) this.tree.isEnding = true;
  }
  unwound(): MaybePromise<void> {
    return this.lazyChildren?.unwound();
  }
  /** Makes the engine of a hired agent. `Hiring` cannot do it by itself: its file must not import this one, which imports it. */
  childEngine(options: InProcessOptions): InProcessEngine {
    return new InProcessEngine(options);
  }

  /**
   * Asking is not recorded. But how often it was asked in vain just before a message was read is recorded with that, so that a replay gives
   * the message to the same question.
   */
  hasMail(key: string): boolean {
    const { replay } = this;
    if (replay?.isCatchingUp === true) return replay.isNext(key) && this.mailAsks++ >= replay.mailAsks(key);
    if (replay?.isRecorded(key) === true || this.tree.hasMail(this.start.execId)) return true;
    this.mailAsks = this.asksInVain + 1;
    this.askedAfter = this.written;
    return false;
  }

  private get asksInVain(): number {
    return this.askedAfter === this.written ? this.mailAsks : 0;
  }

  /** How many entries it has written in this process. */
  private get written(): number {
    return this.lazyRecorder?.written ?? 0;
  }

  async receive(key: string, { wait }: { readonly wait: boolean }): Promise<InboxMessage | null> {
    const { mailbox, recorder } = this;
    const next = (): MaybePromise<JsonValue> => mailbox.take() ?? (wait ? this.nextMessage(mailbox) : null);
    const asked = this.asksInVain;
    const message = (await recorder.fact(
      key,
      next,
      asked > 0 ? { asked } : undefined,
    )) as InboxMessage | null;
    this.mailAsks = 0;
    if (message !== null) mailbox.markRead(message);
    else if (wait) this.refuseWait(key);
    return message;
  }

  /** The record says that the agent did not wait for a message then. It must not fail now: the agent as it was could still go on. */
  private refuseWait(key: string): never {
    const { execId } = this.start;
    const [recorded, requested] = ["no message", "one that it waits for"];
    return this.suspendFor(new NonDeterminismError({ execId, key, recorded, requested }));
  }

  reply(key: string, messageId: string, value: JsonValue): MaybePromise<void> {
    return andThen(
      this.recorder.fact(key, () => value),
      (known) => this.mailbox.reply(messageId, known),
    );
  }

  publish(event: AgentEvent): void {
    const { events } = this.tree;
    if (!events.isWatched) return events.skip();
    const { supervision, execId } = this.start;
    events.publish(this.clock.now(), supervision.agentId, execId, event);
  }

  /** If it is on record it is not done again: `restoreLedgers` has raised the limits before the run resumed. */
  private async raiseOnce(ledger: Ledger, key: string, more: Partial<Spend>): Promise<void> {
    await this.recorder.fact(key, async () => {
      await ledger.raise?.(more);
      this.tree.grant(more);
      return { ...more };
    });
  }

  private async nextMessage(mailbox: Mailbox): Promise<InboxMessage> {
    const leave = this.tree.signals.listen();
    try {
      return await mailbox.next(this);
    } finally {
      leave();
    }
  }

  private async nextSignal(spec: WaitSpec): Promise<Answer> {
    const { recording, journal, signals, waits } = this.tree;
    const { name, question } = spec;
    const isHere = signals.has(name);
    const kind = question === undefined ? "signal" : "approval";
    const wait = waits.describe(this.account, spec.key, { kind, name, question });
    const { value, leave } = signals.next(wait);
    // When it is stopped it leaves the line at once, so that a later answer goes to the next one that waits.
    const answer = orStopped(this, { promise: value, cancel: leave });
    // After a restart somebody is asked again, but not if the answer has arrived meanwhile: a second one would be taken for the answer to
    // the next question.
    const tell = (): void => {
      if (recording === undefined ? this.stopped === undefined : signals.awaits(wait)) spec.onWait?.();
    };
    try {
      // Whoever is asked finds the question in the list of runs.
      const told = journal === undefined || isHere ? tell() : waits.note().then(tell);
      return (await Promise.all([answer, told]))[0];
    } catch (error) {
      // A layer that is told of its question may throw. Nobody waits for the answer then, which must go to the next one that does.
      leave();
      answer.catch(() => {});
      throw error;
    }
  }

  private listTimer(name: string, until: number): () => void {
    const { waits } = this.tree;
    return waits.addTimer(waits.describe(this.account, name, { kind: "timer", name, until }));
  }
}
