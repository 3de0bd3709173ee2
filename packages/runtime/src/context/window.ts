import {
  agentName,
  type ChatMessage,
  type CompactionContext,
  type CompactionStrategy,
  type HistoryKey,
  type HistoryProvider,
  HistoryRetention,
  HookEvent,
  InvalidValueError,
  type MaybePromise,
  sameValue,
  textOf,
  type WindowOptions,
} from "@ravi/kernel";
import { alone } from "./alone.ts";
import { andThen } from "../and-then.ts";
import { callModel } from "./model-call.ts";
import type { Execution } from "./execution.ts";

const NOTHING_YET: ChatMessage[] = [];

/**
 * What an agent sees of its conversation: the history as of the run's start, and what this run has added, through the
 * compaction strategy. The transcript itself is never cut.
 */
export class Window {
  private readonly exec: Execution;
  /** What the agent sees, behind the system prompt: a list that only grows, until a compaction or another prompt starts a new one. */
  private view: ChatMessage[] = NOTHING_YET;
  /** The same without the system prompt, where a strategy looks at it: the newest compaction and what came after it. */
  private body: ChatMessage[] | undefined;
  /** What this run has added, where it is to be kept. */
  private readonly own: ChatMessage[] | undefined;
  /** How many messages the history had when the run began. */
  private ownFrom = 0;
  private head: number | undefined;
  private loaded = false;
  private system: string | undefined;
  private lastSaid: ChatMessage | undefined;
  private strategyContext: CompactionContext | undefined;

  constructor(exec: Execution) {
    this.exec = exec;
    const { history, compaction } = exec.ports;
    // A run of ten thousand turns keeps no transcript that nobody will read.
    const isKept = history !== undefined && exec.supervision.retention === HistoryRetention.PERMANENT;
    this.own = isKept ? [] : undefined;
    this.body = compaction === undefined ? undefined : [];
  }

  add(message: ChatMessage): void {
    Object.freeze(message);
    // The first push onto an empty list makes room for seventeen.
    if (this.view === NOTHING_YET) this.view = [message];
    else this.view.push(message);
    this.body?.push(message);
    this.own?.push(message);
    if (message.role === "assistant" && textOf(message) !== "") this.lastSaid = message;
  }

  /** The last thing that the agent said. */
  get lastText(): string {
    return this.lastSaid === undefined ? "" : textOf(this.lastSaid);
  }

  read(options: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    const { history } = this.exec.ports;
    if (!this.loaded && history !== undefined && this.key() !== undefined) {
      return this.load().then(() => this.show(options));
    }
    return this.show(options);
  }

  /** Where the history is kept; undefined where nothing is kept at all. */
  key(): HistoryKey | undefined {
    const { supervision, execId } = this.exec;
    const { sessionId, retention, agentId } = supervision;
    if (retention === HistoryRetention.NONE) return undefined;
    const key = { sessionId, agentName: agentName(agentId) };
    return retention === HistoryRetention.RUN ? { ...key, execId } : key;
  }

  /** Keeps what the run has added, where it outlives the run. Written once, also when the run was resumed in between. */
  keep(): MaybePromise<void> {
    const { history } = this.exec.ports;
    if (history === undefined || this.own === undefined || this.own.length === 0) return undefined;
    const key = this.key();
    return key === undefined ? undefined : this.write(history, key, this.own);
  }

  private async write(history: HistoryProvider, key: HistoryKey, own: readonly ChatMessage[]): Promise<void> {
    // A run that was resumed may have been killed right after it wrote: what stands there already is not written again.
    const isWritten =
      this.exec.engine.start.isResumed && this.standsIn((await history.load(key)).messages, own);
    if (!isWritten) await history.append(key, own);
  }

  /** Behind what the run began with, where others may have written too. One that never looked has written at the end. */
  private standsIn(messages: readonly ChatMessage[], own: readonly ChatMessage[]): boolean {
    const last = messages.length - own.length;
    for (let at = this.loaded ? this.ownFrom : Math.max(0, last); at <= last; at++)
      if (sameValue(messages.slice(at, at + own.length), own)) return true;
    return false;
  }

  private async load(): Promise<void> {
    const { history } = this.exec.ports;
    const key = this.key();
    if (history === undefined || key === undefined) return;
    const head = async (): Promise<number> => (await history.load(key, 0)).head;
    // Kept where the history then fails: whoever looks again has its head on record.
    this.head ??= Number(
      await this.exec.lane.within("window", () => this.exec.engine.fact("history:head", head)),
    );
    const { messages } = await history.load(key, this.head);
    // Somebody else has asked in the meantime.
    if (this.loaded) return;
    this.ownFrom = messages.length;
    // What was said before the agent first looked comes after what is known from before.
    this.restart([...messages, ...this.withoutSystem()]);
    this.loaded = true;
  }

  private show(options: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    const { system } = options;
    if (system !== undefined && system !== this.system) {
      const said = this.withoutSystem();
      this.system = system;
      this.restart(said);
    }
    // What is handed out is the list that grows.
    if (this.view === NOTHING_YET) this.view = [];
    const { compaction } = this.exec.ports;
    return compaction === undefined ? this.view : this.compact(compaction, options);
  }

  private restart(messages: readonly ChatMessage[]): void {
    if (this.body !== undefined) this.body = [...messages];
    this.view =
      this.system === undefined ? [...messages] : [{ role: "system", content: this.system }, ...messages];
  }

  private withoutSystem(): readonly ChatMessage[] {
    return this.system === undefined ? this.view : this.view.slice(1);
  }

  private compact(
    strategy: CompactionStrategy,
    options: WindowOptions,
  ): MaybePromise<readonly ChatMessage[]> {
    const before = (this.body ??= [...this.withoutSystem()]);
    const { length } = before;
    const take = (after: readonly ChatMessage[]): readonly ChatMessage[] => {
      const isList: boolean = Array.isArray(after);
      if (!isList) {
        const field = `what ${strategy.name ?? "compaction"} gave`;
        throw new InvalidValueError({ field, value: after, expected: "a list of messages" });
      }
      if (after !== before) {
        // What was added while the strategy was at work was not looked at by it.
        this.restart(before.length === length ? after : [...after, ...before.slice(length)]);
        this.tell(strategy, length, after.length);
      }
      return this.view;
    };
    return andThen(strategy.compact(before, this.contextFor(options)), take);
  }

  /** One object for the execution: a strategy remembers by it what it has paid for. */
  private contextFor(options: WindowOptions): CompactionContext {
    const { exec } = this;
    this.strategyContext ??= {
      llm: (model, request) => {
        const key = exec.nextKey("compact", model.id);
        return alone(exec, key, callModel, { kind: "llm", model, request });
      },
    };
    return Object.assign(this.strategyContext, options);
  }

  private tell(strategy: CompactionStrategy, before: number, after: number): void {
    const { exec } = this;
    if (!exec.hooks.has(HookEvent.COMPACTION)) return;
    const name = strategy.name ?? "compaction";
    void exec.hooks.dispatch(HookEvent.COMPACTION, {
      ...exec.hookBase(false),
      strategy: name,
      before,
      after,
    });
  }
}
