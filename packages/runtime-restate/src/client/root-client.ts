import { type Clock, errorFromJSON, InvalidValueError } from "@ravi/kernel";
import { type Decisions, missed, notAwaited } from "@ravi/kernel/loop";
import { checkOpen } from "../check.ts";
import type { Ingress } from "../ingress.ts";
import { ROOT, TOPIC } from "../names.ts";
import type {
  DeliverAnswer,
  DeliverMessage,
  Resumed,
  Retried,
  SendAnswer,
  SendMessage,
  Started,
  StartMessage,
  StopAnswer,
} from "../root/messages.ts";
import { knownAnswer } from "../root/unknown-run.ts";
import { unblockWhileWaiting } from "../unblock.ts";
import type { Admin } from "./admin.ts";

/** How long a client tries to reach a server that does not answer. Workers try for as long as their attempt lives. */
const PATIENCE_MS = 30_000;

export interface RootsOptions {
  readonly ingress: Ingress;
  readonly admin: Admin;
  readonly clock: Clock;
  /** Aborts all requests. */
  readonly closed: AbortSignal;
}

/** The messages of a client to the objects of the trees. */
export class RootClient {
  private readonly options: RootsOptions;
  private readonly starting = new Map<string, Promise<void>>();

  constructor(options: RootsOptions) {
    this.options = options;
  }

  /** The run's object may be blocked by a deployment that is gone. Tells the server to use another one. */
  unblock(runId: string): void {
    void this.options.admin.unblock(runId).catch(() => {});
  }

  /** Starts a run. Other messages to the run wait until it has begun. */
  start(runId: string, message: () => Promise<Omit<StartMessage, "at">>): Promise<void> {
    const begun = this.begin(runId, message).finally(() => this.starting.delete(runId));
    this.starting.set(runId, begun);
    return begun;
  }

  private async begin(runId: string, message: () => Promise<Omit<StartMessage, "at">>): Promise<void> {
    const { isNew, refused } = (await this.ask(runId, "start", await message())) as Started;
    if (refused !== undefined) throw errorFromJSON(refused);
    if (isNew) return;
    const expected = "an id that the server does not know yet; call resume() to continue that run";
    throw new InvalidValueError({ field: "runId", value: runId, expected });
  }

  /** Hands out decisions and continues what is parked. Throws if a decision is refused. */
  async resume(runId: string, decisions: Decisions): Promise<void> {
    const resumed = (await this.askAfterStart(runId, "resume", { decisions })) as Resumed | null;
    if (resumed?.refused !== undefined) throw errorFromJSON(resumed.refused);
    await this.options.admin.continueRun(runId, this.options.closed);
  }

  /** Continues a run that has failed. Throws if it cannot be. */
  async retry(runId: string, nonce: string): Promise<void> {
    const { ingress, closed } = this.options;
    const retried = (await this.askAfterStart(runId, "retry", { nonce })) as Retried;
    if ("refused" in retried) throw errorFromJSON(retried.refused);
    // Its events go on. The tree says so too, but a reader may be faster than that.
    const target = { service: TOPIC, key: runId, handler: "open" };
    await unblockWhileWaiting(ingress.call(target, retried, closed, PATIENCE_MS), () => this.unblock(runId));
  }

  /** Stops a run. Executions that no worker can run are killed at the server. */
  async stop(runId: string, reason: string): Promise<void> {
    const { deaf } = (await this.askAfterStart(runId, "stop", {
      execId: null,
      stopped: { reason },
    })) as StopAnswer;
    await this.options.admin.kill(deaf);
  }

  /** Gives the run a value that it waits for. Throws an `InvalidValueError` if the run has ended, or cannot keep the value. */
  async deliver(runId: string, delivery: Omit<DeliverMessage, "at">): Promise<void> {
    const answer = (await this.askAfterStart(runId, "deliver", delivery)) as DeliverAnswer;
    if (answer === null) return;
    if ("refused" in answer) throw errorFromJSON(answer.refused);
    if ("waitsFor" in answer) throw notAwaited(runId, delivery.name, answer.waitsFor);
    throw hasEnded(runId, answer.ended);
  }

  /** Sends a message to an execution of the run. Throws an `InvalidValueError` if it has ended, or the message cannot be kept. */
  async send(runId: string, said: Omit<SendMessage, "at">): Promise<void> {
    const answer = (await this.askAfterStart(runId, "send", said)) as SendAnswer;
    if (answer === null) return;
    if ("refused" in answer) throw errorFromJSON(answer.refused);
    throw "isMissed" in answer ? missed(runId, said.to) : hasEnded(runId, answer.ended);
  }

  /** Deletes a run that is over. Throws an `InvalidValueError` if it is still under way. */
  async forget(runId: string): Promise<void> {
    const { admin } = this.options;
    const { isGone } = (await this.askAfterStart(runId, "forget", {})) as { isGone: boolean };
    if (!isGone) {
      const expected = "a run that is not running; cancel it first";
      throw new InvalidValueError({ field: "runId", value: runId, expected });
    }
    const over = await admin.finished(runId);
    await Promise.all(over.map((invocation) => admin.purge(invocation)));
  }

  private async askAfterStart(runId: string, name: string, message: object): Promise<unknown> {
    // A failed start is reported to the caller that started it.
    await this.starting.get(runId)?.catch(() => {});
    return this.ask(runId, name, message);
  }

  private async ask(runId: string, name: string, message: object): Promise<unknown> {
    const { ingress, clock, closed } = this.options;
    checkOpen(closed);
    const target = { service: ROOT, key: runId, handler: name };
    const timed = { at: clock.now(), ...message };
    const answer = await unblockWhileWaiting(ingress.call(target, timed, closed, PATIENCE_MS), () =>
      this.unblock(runId),
    );
    return knownAnswer(answer, runId);
  }
}

function hasEnded(runId: string, status: string): InvalidValueError {
  const expected = `the id of a run that has not ended; this one is ${status}`;
  return new InvalidValueError({ field: "runId", value: runId, expected });
}
