import {
  agentName,
  type ChatMessage,
  type CompactionContext,
  type CompactionStrategy,
  type HistoryKey,
  HistoryRetention,
  HookEvent,
  isPromiseLike,
  type MaybePromise,
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
  /** History and the run's own messages; the system prompt is not in it. */
  private readonly transcript: ChatMessage[] = [];
  private ownFrom = 0;
  private loaded = false;
  /** The newest compaction and what came after it. */
  private body: ChatMessage[] = [];
  /** The body behind the system prompt: a list that only grows, until a compaction or another prompt starts a new one. */
  private view: ChatMessage[] = [];
  /** How much of the transcript is in both. */
  private seen = 0;
  private system: string | undefined;
  private strategyContext: CompactionContext | undefined;

  constructor(exec: Execution) {
    this.exec = exec;
  }

  add(message: ChatMessage): void {
    this.transcript.push(Object.freeze(message));
  }

  read(options: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    const { history } = this.exec.tree.ports;
    if (!this.loaded && history !== undefined && this.key() !== undefined) {
      return this.load().then(() => this.show(options));
    }
    return this.show(options);
  }

  /** What this run has added. */
  get own(): readonly ChatMessage[] {
    return this.transcript.slice(this.ownFrom);
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
  async keep(): Promise<void> {
    const { history } = this.exec.tree.ports;
    const key = this.key();
    if (history === undefined || key === undefined || key.execId !== undefined) return;
    if (!this.loaded) await this.load();
    const { head } = await history.load(key, 0);
    if (head === this.ownFrom && this.own.length > 0) await history.append(key, this.own);
  }

  private async load(): Promise<void> {
    this.loaded = true;
    const { history } = this.exec.tree.ports;
    const key = this.key();
    if (history === undefined || key === undefined) return;
    const known = await this.exec.engine.fact("history:head", async () => (await history.load(key, 0)).head);
    const { messages } = await history.load(key, Number(known));
    this.transcript.unshift(...messages);
    this.ownFrom = messages.length;
    this.restart([]);
    this.seen = 0;
  }

  private show(options: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    const { system } = options;
    if (system !== undefined && system !== this.system) {
      this.system = system;
      this.restart(this.body);
    }
    for (; this.seen < this.transcript.length; this.seen++) {
      const message = this.transcript[this.seen];
      if (message === undefined) continue;
      this.body.push(message);
      this.view.push(message);
    }
    const { compaction } = this.exec.tree.ports;
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
      llm: (model, request) =>
        callModel(exec, exec.nextKey("compact", model.id), { kind: "llm", model, request }),
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
