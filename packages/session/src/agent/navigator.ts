import { agentName, InvalidValueError, type RunContext, SessionId } from "@ravi/kernel";
import { sleep, withTimers } from "@ravi/kernel/loop";
import { SessionLockedError } from "../errors.ts";
import { Session, type SessionManager } from "../tree/session.ts";
import type { ForkOptions } from "../extensions/extension.ts";
import type { Plan } from "./plan.ts";

/** File systems may tell time in whole seconds. */
const MARGIN_MS = 1_000;

/** Manages which session is open. At most one is, and its lock is held for as long. */
export class Navigator {
  private readonly plan: Plan;
  private current: Session | undefined;
  /** Whether the user has chosen the session. Otherwise each run under a runtime uses its own session. */
  private isChosen: boolean;
  private chosenId: string | undefined;

  constructor(plan: Plan) {
    this.plan = plan;
    this.chosenId = plan.options.sessionId;
    this.isChosen = this.chosenId !== undefined;
  }

  /** The open session. Throws an `InvalidValueError` if none is open. */
  get manager(): SessionManager {
    if (this.current !== undefined) return this.current;
    const expected = "an open session; call open() or invoke() first";
    throw new InvalidValueError({ field: "SessionAgent.sessionManager", value: undefined, expected });
  }

  /** The id of the session for the user's next turn; a new id if there is none yet. */
  get id(): string {
    return (this.chosenId ??= this.plan.ids.uuid());
  }

  /** The id of the open session, or else of the next one. */
  get currentId(): string {
    return this.current?.sessionId ?? this.id;
  }

  /** The id of the open session, or else of the one that the user has chosen. Undefined if the next run may bring its own. */
  get namedId(): string | undefined {
    return this.current?.sessionId ?? (this.isChosen ? this.id : undefined);
  }

  /** Opens the session for the user's own turns (`invoke` and the like). */
  async openOwn(): Promise<Session> {
    this.isChosen = true;
    return this.open(this.id);
  }

  /**
   * Opens the session for a run under a runtime: the one that the user chose, else the session of the run. A hired agent gets a
   * session of its own, named after both.
   */
  async openForRun(ctx: RunContext): Promise<Session> {
    try {
      return await this.openNamed(ctx);
    } catch (error) {
      await this.waitForLock(ctx, error);
      // If it has been renewed meanwhile, its holder lives.
      return this.openNamed(ctx);
    }
  }

  private openNamed({ supervision, agentId }: RunContext): Promise<Session> {
    if (this.isChosen) return this.openOwn();
    const { sessionId, isRoot } = supervision;
    return this.open(isRoot ? sessionId : `${sessionId}/${agentName(agentId)}`);
  }

  /**
   * Waits until a lock has expired that a process left behind when it was killed. The run's own claim may have passed on before. It is not
   * recorded: a replay has to wait only if the session is locked then. Throws the error if it is another one, or if the lock does not
   * expire.
   */
  private async waitForLock(ctx: RunContext, error: unknown): Promise<void> {
    const waitMs = error instanceof SessionLockedError ? error.expiresInMs : undefined;
    const { clock } = this.plan;
    if (!(error instanceof SessionLockedError) || waitMs === undefined || clock.setTimer === undefined)
      throw error;
    const { sessionId, owner } = error;
    ctx.emit({ type: "progress", name: "sessionLocked", data: { sessionId, owner, waitMs } });
    await sleep(withTimers(clock, globalThis), waitMs + MARGIN_MS, ctx.signal);
  }

  /** Closes the session after a run unless the user chose it, so that others can open it. */
  async afterRun(): Promise<void> {
    if (this.isChosen) return;
    await this.close();
  }

  /** Switches to a new session and returns its id. */
  async startNew(): Promise<string> {
    return this.switchTo(this.plan.ids.uuid());
  }

  /** Switches to a session. It is opened before the current one is closed, so if that fails nothing has changed. */
  async switchTo(id: string): Promise<string> {
    if (this.current?.sessionId !== SessionId(id)) await this.replaceCurrent(await this.openSession(id));
    return id;
  }

  /**
   * Continues from an entry: on a new branch (returns the id of its entry) or in a new session (returns the id of that
   * session).
   */
  async fork(entryId: string, { newSession = false, note }: ForkOptions): Promise<string> {
    const session = await this.openOwn();
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
    const next = await this.openSession(id);
    try {
      await next.copyFrom(session, entryId, note);
    } catch (error) {
      await next.close();
      throw error;
    }
    await this.replaceCurrent(next);
    return id;
  }

  async close(): Promise<void> {
    const { current } = this;
    this.current = undefined;
    await current?.close();
  }

  /** Makes `next` the open session. The old one is closed last, so that an error there does not lose the new one. */
  private async replaceCurrent(next: Session): Promise<void> {
    const old = this.current;
    this.current = next;
    this.chosenId = next.sessionId;
    this.isChosen = true;
    await old?.close();
  }

  private async open(id: string): Promise<Session> {
    if (this.current?.sessionId === id && !this.current.isLost) return this.current;
    await this.close();
    return (this.current = await this.openSession(id));
  }

  private async openSession(id: string): Promise<Session> {
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

/** Whole milliseconds of at most 16 digits: the file format can store no other times, whatever a custom clock returns. */
function wholeMs(now: number): number {
  // What is not a number counts as 0.
  return Math.min(Math.max(0, Math.floor(now)) || 0, Number.MAX_SAFE_INTEGER);
}
