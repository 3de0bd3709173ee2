import {
  type DurableEngine,
  type ExecId,
  type Heard,
  type HireOutcome,
  type HireSpec,
  InvalidValueError,
  type JsonValue,
  type MaybePromise,
  type RaviError,
  type RunHandle,
} from "@ravi/kernel";
import { AskTimer } from "./ask-timer.ts";
import { Hiring } from "./hiring.ts";
import type { InProcessEngine } from "./in-process.ts";
import { hireInTime } from "./hire-wait.ts";
import { JOURNAL_TIMEOUT_MS } from "./run-journal.ts";
import { LinkedList } from "@ravi/kernel/loop";
import { delay, orStopped, eventLoopTurn } from "./waiting.ts";

/** The children of one execution in this process. */
export class Children {
  private readonly all = new LinkedList<Hiring>();
  /** Made when a child is first looked up by its id. Most never are, and then no id has to be hashed. */
  private index: Map<ExecId, Hiring> | undefined;
  private readonly engine: InProcessEngine;

  constructor(engine: InProcessEngine) {
    this.engine = engine;
  }

  add(child: Hiring): void {
    this.all.add(child);
    this.index?.set(child.spec.execId, child);
  }

  delete(child: Hiring): void {
    this.all.delete(child);
    this.index?.delete(child.spec.execId);
  }

  hire(spec: HireSpec): Promise<HireOutcome> {
    return hireInTime(this.engine, new Hiring(this.engine, spec));
  }

  async spawn(spec: HireSpec): Promise<RunHandle> {
    const hiring = new Hiring(this.engine, spec);
    hiring.isSpawned = true;
    const started = Promise.withResolvers<void>();
    const ended = hiring.start(started.resolve);
    // Handles a rejection too, so that a child that nobody joins does not cause an unhandled one.
    const over = ended.then(
      (outcome) => hiring.noteEnd(outcome),
      () => hiring.noteStop(),
    );
    await Promise.race([started.promise, over]);
    if (hiring.hasChild) return hiring.handle;
    const outcome = await ended;
    if ("error" in outcome) throw outcome.error;
    throw new TypeError("the hire ended before its child started");
  }

  async join(child: ExecId): Promise<HireOutcome> {
    return orStopped(this.engine, this.childOf(child).outcome);
  }

  /** A missing answer is recorded like an answer, so that a replay gets the same. */
  async ask(
    key: string,
    child: ExecId,
    message: JsonValue,
    { timeoutMs, attachments }: Parameters<DurableEngine["ask"]>[3],
  ): Promise<Heard> {
    const { mailbox, outcome } = this.childOf(child);
    const { recorder, clock, start, tree } = this.engine;
    const { execId, supervision } = start;
    // If it is sent again after a crash it has the same id, so the child reads it only once.
    const id = `${execId}:${key}`;
    const limit = (): number => clock.now() + (timeoutMs ?? 0);
    const until = timeoutMs === undefined ? undefined : Number(await recorder.fact(`asked:${key}`, limit));
    return (await recorder.fact(key, async (): Promise<Heard> => {
      // A child that has replied and ended before the crash does not reply again: its reply is on record.
      const known = tree.recording?.of(child).steps.get(`reply:${id}`)?.end?.body["value"];
      if (known !== undefined) return { reply: known };
      if (mailbox === undefined) return { silent: true, ended: true };
      const sent = { id, from: supervision.agentId, content: message, at: clock.now() };
      mailbox.deliver(attachments === undefined ? sent : { ...sent, attachments });
      const reply = mailbox.replyTo(id).then((value): Heard => ({ reply: value }));
      // A child that has ended will not reply.
      const silence = outcome.then((): Heard => ({ silent: true, ended: true }));
      const late = Promise.withResolvers<Heard>();
      const asking = until === undefined ? undefined : { child, timeoutMs: timeoutMs ?? 0, until };
      const timer = asking && new AskTimer(this.engine, asking, () => late.resolve({ silent: true }));
      try {
        timer?.start();
        return await orStopped(this.engine, Promise.race([reply, silence, late.promise]));
      } finally {
        timer?.cancel();
      }
    })) as Heard;
  }

  /**
   * Cancels the children that still run, and waits for them: their seats must be free before the parent's. `crash` is what the parent's
   * own code threw, if it did.
   */
  end(crash: RaviError | undefined): MaybePromise<void> {
    const { tree, start } = this.engine;
    if (crash !== undefined && start.supervision.isRoot) {
      // A run that is restarted continues with its children: they are suspended, and nothing is recorded.
      if (tree.isRestartedAfter(crash)) tree.suspend("the root agent crashed and is restarted");
      // The outcome is known, so whoever closes the runtime meanwhile suspends nobody.
      else tree.isEnding = true;
    }
    const living = this.living();
    if (living.length === 0) return undefined;
    for (const child of living) child.cancel(`its parent ${start.supervision.agentId} has ended`);
    return this.allOver(living);
  }

  /** Waits for children that are still stopping. They were told to stop with the whole run, and are given up after their grace. */
  unwound(): MaybePromise<void> {
    const living = this.living();
    // Without timers a child that does not stop would never be given up.
    const isBounded = this.engine.clock.setTimer !== undefined;
    return living.length > 0 && isBounded ? this.allOver(living) : undefined;
  }

  private living(): readonly Hiring[] {
    return this.all.toArray().filter(({ status }) => status === "running");
  }

  /**
   * Waits until all of them have ended. Their outcomes are recorded with their hires, which may never happen if the journal no longer
   * answers: as soon as it makes no progress for a while, nobody waits any longer.
   */
  private async allOver(children: readonly Hiring[]): Promise<void> {
    const over = Promise.allSettled(children.map(({ outcome }) => outcome)).then(() => true);
    const { clock, tree } = this.engine;
    if (tree.journal === undefined || clock.setTimer === undefined) return void (await over);
    for (let progress: number | undefined; ;) {
      const timeout = delay(clock, JOURNAL_TIMEOUT_MS);
      const isOver = await Promise.race([over, timeout.promise.then(eventLoopTurn)]);
      timeout.cancel();
      if (isOver === true || (progress !== undefined && progress === tree.journal.progress)) return;
      progress = tree.journal.progress;
    }
  }

  private childOf(execId: ExecId): Hiring {
    this.index ??= new Map(this.all.toArray().map((each) => [each.spec.execId, each]));
    const child = this.index.get(execId);
    if (child !== undefined) return child;
    throw new InvalidValueError({
      field: "handle",
      value: execId,
      expected: `the handle of a child of ${this.engine.start.execId}`,
    });
  }
}
