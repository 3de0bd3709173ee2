import {
  type ExecId,
  type Heard,
  type HireOutcome,
  type HireSpec,
  InvalidValueError,
  type JsonValue,
  type MaybePromise,
  type RunHandle,
} from "@ravi/kernel";
import type { Child } from "./child.ts";
import { Hiring } from "./hiring.ts";
import type { InProcessEngine } from "./in-process.ts";
import { hireInTime } from "./patience.ts";
import { JOURNAL_PATIENCE_MS } from "./run-journal.ts";
import { LinkedList } from "@ravi/kernel/loop";
import { delay, orStopped, turnOfLoop } from "./waiting.ts";

/** Whom one execution has hired, in this process. */
export class Children {
  private readonly all = new LinkedList<Child>();
  /** Made for the first that is asked for: most are only waited for, and their ids need not be hashed. */
  private index: Map<ExecId, Child> | undefined;
  private readonly engine: InProcessEngine;

  constructor(engine: InProcessEngine) {
    this.engine = engine;
  }

  add(child: Child): void {
    this.all.add(child);
    this.index?.set(child.handle.execId, child);
  }

  delete(child: Child): void {
    this.all.delete(child);
    this.index?.delete(child.handle.execId);
  }

  hire(spec: HireSpec): Promise<HireOutcome> {
    return hireInTime(this.engine, new Hiring(this.engine, spec));
  }

  async spawn(spec: HireSpec): Promise<RunHandle> {
    const hiring = new Hiring(this.engine, spec);
    const started = Promise.withResolvers<void>();
    const ended = hiring.start(started.resolve);
    // Heard in any case: a child that nobody joins must not become an unhandled rejection.
    const over = ended.then(
      (outcome) => hiring.noteEnd(outcome),
      () => hiring.noteStop(),
    );
    await Promise.race([started.promise, over]);
    if (hiring.hasChild) return hiring.handle;
    const outcome = await ended;
    if ("error" in outcome) throw outcome.error;
    throw new TypeError("a hire ended before it began");
  }

  async join(child: ExecId): Promise<HireOutcome> {
    return orStopped(this.engine, this.childOf(child).outcome);
  }

  /** That nobody answered is on record like an answer, so that a replay hears the same. */
  async ask(
    key: string,
    child: ExecId,
    message: JsonValue,
    { timeoutMs }: { readonly timeoutMs: number | undefined },
  ): Promise<Heard> {
    const { mailbox, outcome } = this.childOf(child);
    const { recorder, clock, start, tree } = this.engine;
    const { execId, supervision } = start;
    // Sent again after a crash it has the same id, and the child reads it once.
    const id = `${execId}:${key}`;
    const limit = (): number => clock.now() + (timeoutMs ?? 0);
    const until = timeoutMs === undefined ? undefined : Number(await recorder.fact(`asked:${key}`, limit));
    return (await recorder.fact(key, async (): Promise<Heard> => {
      // A child that has replied, and ended, before a crash says no more.
      const known = tree.recording?.of(child).steps.get(`reply:${id}`)?.end?.body["value"];
      if (known !== undefined) return { reply: known };
      if (mailbox === undefined) return { silent: true, ended: true };
      mailbox.deliver({ id, from: supervision.agentId, content: message, at: clock.now() });
      const reply = mailbox.replyTo(id).then((value): Heard => ({ reply: value }));
      // Who has ended without a reply will not give one.
      const silence = [outcome.then((): Heard => ({ silent: true, ended: true }))];
      const timer = until === undefined ? undefined : delay(clock, Math.max(0, until - clock.now()));
      if (timer !== undefined) silence.push(timer.promise.then((): Heard => ({ silent: true })));
      try {
        return await orStopped(this.engine, Promise.race([reply, ...silence]));
      } finally {
        timer?.cancel();
      }
    })) as Heard;
  }

  /** A child does not outlive its parent: whoever nobody joined is cancelled, and its seat is free before the parent's is. */
  async end(isCrash: boolean): Promise<void> {
    const { tree, start } = this.engine;
    if (isCrash && start.supervision.isRoot && this.engine.isDurable && tree.ports.restart !== undefined) {
      // It may be started again, and then goes on with its children: they are unwound, and nothing is recorded of it.
      tree.suspend("its root crashed and may be started again");
    }
    const living = this.living();
    for (const { handle } of living) {
      handle.cancel(`${start.supervision.agentId}, who hired it, has ended`);
    }
    await this.allOver(living);
  }

  /** Those who are still at work were told to stop with everybody else, and are given up after their grace. */
  unwound(): MaybePromise<void> {
    const living = this.living();
    // Without timers nobody would be given up.
    const isBounded = this.engine.clock.setTimer !== undefined;
    return living.length > 0 && isBounded ? this.allOver(living) : undefined;
  }

  private living(): readonly Child[] {
    return this.all.toArray().filter(({ handle }) => handle.status === "running");
  }

  /**
   * Their outcomes are on record with their hires; here it only matters that they are over. That is never known where the journal has
   * stopped answering: T4.
   */
  private async allOver(children: readonly Child[]): Promise<void> {
    const over = Promise.allSettled(children.map(({ outcome }) => outcome)).then(() => true);
    const { clock, tree } = this.engine;
    if (tree.journal === undefined || clock.setTimer === undefined) return void (await over);
    for (let owing: number | undefined; ;) {
      const patience = delay(clock, JOURNAL_PATIENCE_MS);
      const isOver = await Promise.race([over, patience.promise.then(turnOfLoop)]);
      patience.cancel();
      if (isOver === true || (owing !== undefined && owing === tree.journal.owing)) return;
      owing = tree.journal.owing;
    }
  }

  private childOf(execId: ExecId): Child {
    this.index ??= new Map(this.all.toArray().map((each) => [each.handle.execId, each]));
    const child = this.index.get(execId);
    if (child !== undefined) return child;
    throw new InvalidValueError({
      field: "handle",
      value: execId,
      expected: `a child of ${this.engine.start.execId}`,
    });
  }
}
