import {
  agentName,
  type ChatMessage,
  type CompactionContext,
  type CompactionStrategy,
  type HistoryKey,
  type HistoryProvider,
  HistoryRetention,
  HookEvent,
  isPromiseLike,
  type MaybePromise,
  sameValue,
  textOf,
  type WindowOptions,
} from "@ravi/kernel";
import { callModel } from "./model-call.ts";
import type { Execution } from "./execution.ts";

/**
 * What an agent sees of its conversation: the history as of the run's start, and what this run has added, through the
 * compaction strategy. The transcript itself is never cut.
 */
export class Window {
  private readonly exec: Execution;
  /** What this run has added, where it is to be kept; otherwise only what is not in the body yet. */
  private readonly own: ChatMessage[] = [];
  /** How many messages the history had when the run began. */
  private ownFrom = 0;
  private loaded = false;
  /** The newest compaction and what came after it. */
  private body: ChatMessage[] = [];
  /** The body behind the system prompt: a list that only grows, until a compaction or another prompt starts a new one. */
  private view: ChatMessage[] = [];
  /** How many of its own are in both. */
  private seen = 0;
  private system: string | undefined;
  private lastSaid: ChatMessage | undefined;
  private strategyContext: CompactionContext | undefined;

  constructor(exec: Execution) {
    this.exec = exec;
  }

  add(message: ChatMessage): void {
    this.own.push(Object.freeze(message));
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
    if (history === undefined || !this.isKept() || this.own.length === 0) return undefined;
    const key = this.key();
    return key === undefined ? undefined : this.write(history, key);
  }

  private async write(history: HistoryProvider, key: HistoryKey): Promise<void> {
    // An agent that never looked at its window has no place in the history on record: it adds at the end.
    if (!this.loaded) this.ownFrom = (await history.load(key, 0)).head;
    if (this.exec.engine.start.isResumed) {
      // A run that was resumed may have been killed right after it wrote: what stands there already is not written again.
      const { messages } = await history.load(key);
      if (sameValue(messages.slice(this.ownFrom, this.ownFrom + this.own.length), this.own)) return;
    }
    await history.append(key, this.own);
  }

  private isKept(): boolean {
    const { ports, supervision } = this.exec;
    return ports.history !== undefined && supervision.retention === HistoryRetention.PERMANENT;
  }

  private async load(): Promise<void> {
    const { history } = this.exec.ports;
    const key = this.key();
    if (history === undefined || key === undefined) return;
    const head = async (): Promise<number> => (await history.load(key, 0)).head;
    const known = await this.exec.inLane("window", () => this.exec.engine.fact("history:head", head));
    const { messages } = await history.load(key, Number(known));
    this.ownFrom = messages.length;
    this.restart(messages);
    this.seen = 0;
    this.loaded = true;
  }

  private show(options: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    const { system } = options;
    if (system !== undefined && system !== this.system) {
      this.system = system;
      this.restart(this.body);
    }
    for (; this.seen < this.own.length; this.seen++) {
      const message = this.own[this.seen];
      if (message === undefined) continue;
      this.body.push(message);
      this.view.push(message);
    }
    // A run of ten thousand turns keeps no transcript that nobody will read.
    if (!this.isKept()) this.seen = this.own.length = 0;
    const { compaction } = this.exec.ports;
    return compaction === undefined ? this.view : this.compact(compaction, options);
  }

  private restart(body: readonly ChatMessage[]): void {
    this.body = [...body];
    this.view = this.system === undefined ? [...body] : [{ role: "system", content: this.system }, ...body];
  }

  private compact(
    strategy: CompactionStrategy,
    options: WindowOptions,
  ): MaybePromise<readonly ChatMessage[]> {
    const before = this.body;
    const take = (after: readonly ChatMessage[]): readonly ChatMessage[] => {
      if (after !== before) {
        this.restart(after);
        this.tell(strategy, before.length, after.length);
      }
      return this.view;
    };
    const made = strategy.compact(before, this.contextFor(options));
    return isPromiseLike(made) ? made.then(take) : take(made);
  }

  /** One object for the execution: a strategy remembers by it what it has paid for. */
  private contextFor(options: WindowOptions): CompactionContext {
    const { exec } = this;
    this.strategyContext ??= {
      llm: (model, request) => {
        const key = exec.nextKey("compact", model.id);
        return exec.alone(key, () => callModel(exec, key, { kind: "llm", model, request }));
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
