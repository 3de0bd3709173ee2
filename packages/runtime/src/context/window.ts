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
import { runExclusive } from "./exclusive.ts";
import { andThen } from "../promises/and-then.ts";
import { callModel } from "./model-call.ts";
import type { Execution } from "./execution.ts";

const NOTHING_YET: ChatMessage[] = [];
/** What one request is sent with need not be part of the next. */
const NOTHING_MORE: WindowOptions = Object.freeze({ alsoSent: undefined });

/**
 * The conversation as an agent sees it: the history as of the run's start and what this run has added, shortened by the compaction
 * strategy. The transcript itself is never cut.
 */
export class Window {
  private readonly exec: Execution;
  /** What the agent sees, with the system prompt in front. The list only grows, until a compaction or another prompt starts a new one. */
  private view: ChatMessage[] = NOTHING_YET;
  /**
   * The same without the system prompt, for the compaction strategy: the newest compaction and what came after it. Undefined without a
   * strategy.
   */
  private body: ChatMessage[] | undefined;
  /** What this run has added, if it is to be stored. */
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
    // Otherwise a run of ten thousand turns would keep a transcript that nobody reads.
    const isKept = history !== undefined && exec.supervision.retention === HistoryRetention.PERMANENT;
    this.own = isKept ? [] : undefined;
    this.body = compaction === undefined ? undefined : [];
  }

  add(message: ChatMessage): void {
    Object.freeze(message);
    // The first push onto an empty array allocates room for 17 elements, so it is created with its first one.
    if (this.view === NOTHING_YET) this.view = [message];
    else this.view.push(message);
    this.body?.push(message);
    this.own?.push(message);
    if (message.role === "assistant" && textOf(message) !== "") this.lastSaid = message;
  }

  /** The last text that the agent said; empty if there is none. */
  get lastText(): string {
    return this.lastSaid === undefined ? "" : textOf(this.lastSaid);
  }

  /** Whether what is to be stored has an answer. */
  get isAnswered(): boolean {
    return this.own?.some(({ role }) => role === "assistant") === true;
  }

  read(options: WindowOptions): MaybePromise<readonly ChatMessage[]> {
    const { history } = this.exec.ports;
    if (!this.loaded && history !== undefined && this.key() !== undefined) {
      return this.load().then(() => this.show(options));
    }
    return this.show(options);
  }

  /** The key of the stored history; undefined if none is stored. */
  key(): HistoryKey | undefined {
    const { supervision, execId } = this.exec;
    const { sessionId, retention, agentId } = supervision;
    if (retention === HistoryRetention.NONE) return undefined;
    const key = { sessionId, agentName: agentName(agentId) };
    return retention === HistoryRetention.RUN ? { ...key, execId } : key;
  }

  /** Stores what the run has added, if the history outlives the run. It is written once, even if the run was resumed in between. */
  keep(): MaybePromise<void> {
    const { history } = this.exec.ports;
    if (history === undefined || this.own === undefined || this.own.length === 0) return undefined;
    const key = this.key();
    return key === undefined ? undefined : this.write(history, key, this.own);
  }

  private async write(history: HistoryProvider, key: HistoryKey, own: readonly ChatMessage[]): Promise<void> {
    // A resumed run may have been killed right after it wrote, so what is there already is not written again.
    const isWritten =
      this.exec.engine.start.isResumed && this.isStoredIn((await history.load(key)).messages, own);
    if (!isWritten) await history.append(key, own);
  }

  /**
   * Whether the history contains what this run has added. It is after what the run began with, and others may have written there too. If
   * the run has never read the history, only its end is compared.
   */
  private isStoredIn(messages: readonly ChatMessage[], own: readonly ChatMessage[]): boolean {
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
    // Kept even if the load below fails: the head is on record by then, and must not be recorded again by the next read.
    this.head ??= Number(
      await this.exec.lane.within("window", () => this.exec.engine.fact("history:head", head)),
    );
    const { messages } = await history.load(key, this.head);
    // Another `read` has loaded it in the meantime.
    if (this.loaded) return;
    this.ownFrom = messages.length;
    // Messages that were added before the first read come after the history.
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
    // The caller gets the list that will grow, so it must not be the shared empty one.
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
        // The strategy has not seen what was added while it worked: that is kept behind its result.
        this.restart(before.length === length ? after : [...after, ...before.slice(length)]);
        this.reportCompaction(strategy, before.slice(0, length), after);
      }
      return this.view;
    };
    return andThen(strategy.compact(before, this.contextFor(options)), take);
  }

  /** The same object for the whole execution: a strategy remembers by it what it has paid for. */
  private contextFor(options: WindowOptions): CompactionContext {
    const { exec } = this;
    this.strategyContext ??= {
      llm: (model, request) => {
        const key = exec.nextKey("compact", model.id);
        return runExclusive(exec, key, callModel, { kind: "llm", model, request, quiet: true });
      },
    };
    return Object.assign(this.strategyContext, NOTHING_MORE, options);
  }

  private reportCompaction(
    strategy: CompactionStrategy,
    before: readonly ChatMessage[],
    after: readonly ChatMessage[],
  ): void {
    const { exec } = this;
    if (!exec.hooks.has(HookEvent.COMPACTION) || saysTheSame(before, after)) return;
    void exec.hooks.dispatch(HookEvent.COMPACTION, {
      ...exec.hookBase(false),
      strategy: strategy.name ?? "compaction",
      before: before.length,
      after: after.length,
    });
  }
}

/** Whether at most ids differ: strategies make those unique, because some servers start at `call_0` in every turn. */
function saysTheSame(before: readonly ChatMessage[], after: readonly ChatMessage[]): boolean {
  return (
    before.length === after.length &&
    before.every((message, at) => {
      const other = after[at];
      return message.content === other?.content && sameValue(argumentsOf(message), argumentsOf(other));
    })
  );
}

function argumentsOf(message: ChatMessage): readonly string[] | undefined {
  return message.role === "assistant" ? message.toolCalls?.map((call) => call.arguments) : undefined;
}
