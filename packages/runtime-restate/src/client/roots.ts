import { type Clock, errorFromJSON, InvalidValueError, type JsonValue } from "@ravi/kernel";
import type { Decisions } from "@ravi/kernel/loop";
import type { Ingress } from "../ingress.ts";
import { ROOT } from "../names.ts";
import type { Resumed, Started, StartMessage, StopAnswer } from "../root/messages.ts";
import { knownAnswer } from "../root/unknown.ts";
import { orOpened } from "../slow.ts";
import type { Admin } from "./admin.ts";

/** How long a server that does not answer is tried for by a client. Workers try for as long as their attempt lives. */
const PATIENCE_MS = 30_000;

export interface RootsOptions {
  readonly ingress: Ingress;
  readonly admin: Admin;
  readonly clock: Clock;
  /** Aborts whatever is being said. */
  readonly closed: AbortSignal;
}

/** What a client says to the objects that have the trees of runs. */
export class Roots {
  private readonly options: RootsOptions;
  private readonly starting = new Map<string, Promise<void>>();

  constructor(options: RootsOptions) {
    this.options = options;
  }

  /** A run's object may be held by a deployment that is gone; the server is told to try another. */
  open(runId: string): void {
    void this.options.admin.openDoor(runId).catch(() => {});
  }

  /** What is said to the run meanwhile waits until it has begun. */
  start(runId: string, message: () => Promise<Omit<StartMessage, "at">>): Promise<void> {
    const begun = this.begin(runId, message).finally(() => this.starting.delete(runId));
    this.starting.set(runId, begun);
    return begun;
  }

  private async begin(runId: string, message: () => Promise<Omit<StartMessage, "at">>): Promise<void> {
    const { isNew, refused } = (await this.ask(runId, "start", await message())) as Started;
    if (refused !== undefined) throw errorFromJSON(refused);
    if (isNew) return;
    const expected = "a run that is not on record yet; resume it instead";
    throw new InvalidValueError({ field: "runId", value: runId, expected });
  }

  async resume(runId: string, decisions: Decisions): Promise<void> {
    const resumed = (await this.say(runId, "resume", { decisions })) as Resumed | null;
    if (resumed?.refused !== undefined) throw errorFromJSON(resumed.refused);
    await this.options.admin.goOn(runId, this.options.closed);
  }

  async stop(runId: string, reason: string): Promise<void> {
    const { deaf } = (await this.say(runId, "stop", { execId: null, stopped: { reason } })) as StopAnswer;
    await this.options.admin.kill(deaf);
  }

  async deliver(runId: string, said: { id: string; name: string; value: JsonValue }): Promise<void> {
    await this.say(runId, "deliver", said);
  }

  async forget(runId: string): Promise<void> {
    const { admin } = this.options;
    const { isGone } = (await this.say(runId, "forget", {})) as { isGone: boolean };
    if (!isGone) {
      const expected = "a run that is not under way; cancel it first";
      throw new InvalidValueError({ field: "runId", value: runId, expected });
    }
    const over = await admin.finished(runId);
    await Promise.all(over.map((invocation) => admin.purge(invocation)));
  }

  private async say(runId: string, name: string, message: object): Promise<unknown> {
    // Whether it could be started is for whoever has started it.
    await this.starting.get(runId)?.catch(() => {});
    return this.ask(runId, name, message);
  }

  private async ask(runId: string, name: string, message: object): Promise<unknown> {
    const { ingress, clock, closed } = this.options;
    if (closed.aborted)
      throw new InvalidValueError({ field: "runtime", value: "closed", expected: "one that is open" });
    const target = { service: ROOT, key: runId, handler: name };
    const said = { at: clock.now(), ...message };
    const answer = await orOpened(ingress.call(target, said, closed, PATIENCE_MS), () => this.open(runId));
    return knownAnswer(answer, runId);
  }
}
