import { agentName, InvalidValueError, type RunContext, SessionId } from "@ravi/kernel";
import { Session, type SessionManager } from "../tree/session.ts";
import type { ForkOptions } from "../extensions/extension.ts";
import type { Plan } from "./plan.ts";

/** Which session is open. At most one is, and its lock is held as long. */
export class Navigator {
  private readonly plan: Plan;
  private current: Session | undefined;
  /** Somebody chose it. Otherwise the next run under a runtime brings its own. */
  private isChosen: boolean;
  private chosenId: string | undefined;

  constructor(plan: Plan) {
    this.plan = plan;
    this.chosenId = plan.options.sessionId;
    this.isChosen = this.chosenId !== undefined;
  }

  get manager(): SessionManager {
    if (this.current !== undefined) return this.current;
    const expected = "an open session; await open(), or invoke() first";
    throw new InvalidValueError({ field: "SessionAgent.sessionManager", value: undefined, expected });
  }

  /** The id that the next turn goes by; a new one where there is none yet. */
  get id(): string {
    return (this.chosenId ??= this.plan.ids.uuid());
  }

  /** The id of the session that is open, or of the next one. */
  get currentId(): string {
    return this.current?.sessionId ?? this.id;
  }

  /** The session of the user's own turns. */
  async own(): Promise<Session> {
    this.isChosen = true;
    return this.open(this.id);
  }

  /** The session of a run: the one that was chosen, or the run's. A hired agent has one of its own in the conversation. */
  async forRun({ supervision, agentId }: RunContext): Promise<Session> {
    if (this.isChosen) return this.own();
    const { sessionId, isRoot } = supervision;
    return this.open(isRoot ? sessionId : `${sessionId}/${agentName(agentId)}`);
  }

  /** After a run: a session that only the run had chosen is open to others again. */
  async afterRun(): Promise<void> {
    if (this.isChosen) return;
    await this.close();
  }

  async begin(): Promise<string> {
    return this.choose(this.plan.ids.uuid());
  }

  /** Opened before the other is closed: where it cannot be opened, nothing has changed. */
  async choose(id: string): Promise<string> {
    if (this.current?.sessionId !== SessionId(id)) {
      await this.take(await this.make(id));
    } else this.isChosen = true;
    return id;
  }

  async fork(entryId: string, { newSession = false, note }: ForkOptions): Promise<string> {
    const session = await this.own();
    if (!newSession) {
      const before = session.leaf;
      session.moveTo(entryId);
      try {
        return await session.append({ kind: "branch", ...(note !== undefined && { note }) });
      } catch (error) {
        session.moveTo(before);
        throw error;
      }
    }
    const id = this.plan.ids.uuid();
    const next = await this.make(id);
    try {
      await next.copyFrom(session, entryId, note);
    } catch (error) {
      await next.close();
      throw error;
    }
    await this.take(next);
    return id;
  }

  async close(): Promise<void> {
    const { current } = this;
    this.current = undefined;
    await current?.close();
  }

  /** The old one is closed last: what goes wrong with it must not lose the new one. */
  private async take(next: Session): Promise<void> {
    const old = this.current;
    this.current = next;
    this.chosenId = next.sessionId;
    this.isChosen = true;
    await old?.close();
  }

  private async open(id: string): Promise<Session> {
    if (this.current?.sessionId === id) return this.current;
    await this.close();
    return (this.current = await this.make(id));
  }

  private async make(id: string): Promise<Session> {
    const { store, redact, clock, ids } = this.plan;
    const log = await store.open(id);
    try {
      const newId = (): string => ids.uuid().replaceAll("-", "");
      return new Session({ log, redact, now: () => wholeMs(clock.now()), newId });
    } catch (error) {
      await log.close();
      throw error;
    }
  }
}

/** A time as it can be written and read again, whatever a clock says. */
function wholeMs(now: number): number {
  return Math.max(0, Math.floor(now));
}
