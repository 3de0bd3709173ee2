import {
  DeadlineExceededError,
  type ExecId,
  type Heard,
  type HireOutcome,
  type HireSpec,
  InvalidValueError,
  type JsonObject,
  type JsonValue,
  type RunHandle,
} from "@ravi/kernel";
import type { Child } from "./child.ts";
import { usageIn, usageToJSON } from "./hire-record.ts";
import { Hiring } from "./hiring.ts";
import type { InProcessEngine } from "./in-process.ts";
import { delay, orStopped } from "./waiting.ts";

/** Whom one execution has hired, in this process. */
export class Children {
  readonly known = new Map<ExecId, Child>();
  private readonly engine: InProcessEngine;

  constructor(engine: InProcessEngine) {
    this.engine = engine;
  }

  async hire(spec: HireSpec): Promise<HireOutcome> {
    const { hiring, ended } = this.begin(spec);
    await Promise.race([hiring.started.promise, ended]);
    return hiring.hasChild ? this.inTime(hiring) : ended;
  }

  async spawn(spec: HireSpec): Promise<RunHandle> {
    const { hiring, ended } = this.begin(spec);
    await Promise.race([hiring.started.promise, ended]);
    if (hiring.hasChild) return hiring.child.handle;
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
      if (mailbox === undefined) return { silent: true };
      mailbox.deliver({ id, from: supervision.agentId, content: message, at: clock.now() });
      const reply = mailbox.replyTo(id).then((value): Heard => ({ reply: value }));
      // Who has ended without a reply will not give one.
      const silence = [outcome.then((): Heard => ({ silent: true }))];
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
    const living = [...this.known.values()].filter(({ handle }) => handle.status === "running");
    for (const { handle } of living) {
      handle.cancel(`${start.supervision.agentId}, who hired it, has ended`);
    }
    // Their outcomes are on record with their hires; here it only matters that they are over.
    await Promise.allSettled(living.map(({ outcome }) => outcome));
  }

  private begin(spec: HireSpec): { readonly hiring: Hiring; readonly ended: Promise<HireOutcome> } {
    const hiring = new Hiring(this.engine, spec);
    const ended = this.engine.recorder.effect(hiring);
    hiring.watch(ended);
    return { hiring, ended };
  }

  private childOf(execId: ExecId): Child {
    const child = this.known.get(execId);
    if (child !== undefined) return child;
    throw new InvalidValueError({
      field: "handle",
      value: execId,
      expected: `a child of ${this.engine.start.execId}`,
    });
  }

  /** Waits for a child, but no longer than its hire says. */
  private async inTime(hiring: Hiring): Promise<HireOutcome> {
    const { recorder, clock } = this.engine;
    const { handle, outcome } = hiring.child;
    const late = `late:${hiring.key}`;
    /** What it has used until then is on record with it, so that a replay says the same. */
    const leave = async (): Promise<HireOutcome> => {
      const used = await recorder.fact(late, () => usageToJSON(hiring.used));
      return { status: "timedOut", handle, ...usageIn(used as JsonObject) };
    };
    if (recorder.isRecorded(late)) return leave();
    const { until } = hiring.times;
    // One whose end is on record, and its lateness is not, was done in time.
    if (until === null || recorder.isRecorded(hiring.key)) return orStopped(this.engine, outcome);
    // Time in which the child had no seat does not count: what it was parked is waited for in addition.
    for (;;) {
      const left = until + hiring.parkedMs - clock.now();
      if (left <= 0) break;
      const timer = delay(clock, left);
      const first = await orStopped(this.engine, Promise.race([outcome, timer.promise])).finally(() =>
        timer.cancel(),
      );
      if (first !== undefined) return first;
    }
    if (hiring.spec.onTimeout === "leave") return leave();
    hiring.cancel(new DeadlineExceededError({ deadline: until }));
    return outcome;
  }
}
