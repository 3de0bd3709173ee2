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
  type JsonValue,
  type MaybePromise,
  sameValue,
  textOf,
  type WindowOptions,
} from "@ravi/kernel";
import { runExclusive } from "./exclusive.ts";
import { andThen } from "../promises/and-then.ts";
import { tryOrLog } from "../promises/try-or-log.ts";
import { callModel } from "./model-call.ts";
import type { Execution } from "./execution.ts";
import { isViewOf, readView, storedView, type View } from "./stored-view.ts";

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
  private beginning: Beginning | undefined;
  private loaded = false;
  private system: string | undefined;
  private lastSaid: ChatMessage | undefined;
  private strategyContext: CompactionContext | undefined;
  /** What the history had when the run began, if what a compaction makes of it can be stored. */
  private past: readonly ChatMessage[] | undefined;
  /** Whether the compaction in progress has called a model. */
  private isPaid = false;
  /** The newest view that was paid for, if it replaces messages that are not stored yet. */
  private made: View | undefined;

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
    if (key === undefined) return undefined;
    const { made } = this;
    const written = this.write(history, key, this.own);
    return made === undefined ? written : written.then(() => this.store(made));
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
    const begin = (): Promise<JsonValue> => this.findBeginning(history, key);
    // Kept even if the load below fails: it is on record by then, and must not be recorded again by the next read.
    this.beginning ??= readBeginning(
      await this.exec.lane.within("window", () => this.exec.engine.fact("history:head", begin)),
    );
    const { head, view: stored } = this.beginning;
    const { messages } = await history.load(key, head);
    // Another `read` has loaded it in the meantime.
    if (this.loaded) return;
    this.ownFrom = messages.length;
    const { compaction } = this.exec.ports;
    const view = compaction === undefined ? undefined : readView(nameOf(compaction), messages, stored);
    if (this.own !== undefined && compaction !== undefined && history.storeView !== undefined)
      this.past = messages;
    const past = view === undefined ? messages : [...view.messages, ...messages.slice(view.covered)];
    // Messages that were added before the first read come after the history.
    this.restart([...past, ...this.withoutSystem()]);
    this.loaded = true;
  }

  /** Recorded, because other runs may store another view, and a resumed run has to begin with the same one. */
  private async findBeginning(history: HistoryProvider, key: HistoryKey): Promise<JsonValue> {
    const { compaction } = this.exec.ports;
    const view =
      compaction === undefined || this.own === undefined ? undefined : await history.loadView?.(key);
    const { head } = await history.load(key, 0);
    return compaction !== undefined && isViewOf(nameOf(compaction), head, view) ? { head, view } : head;
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
    const added = this.own?.length ?? 0;
    this.isPaid = false;
    const take = (after: readonly ChatMessage[]): MaybePromise<readonly ChatMessage[]> => {
      const isList: boolean = Array.isArray(after);
      if (!isList) {
        const field = `what ${nameOf(strategy)} gave`;
        throw new InvalidValueError({ field, value: after, expected: "a list of messages" });
      }
      if (after !== before) {
        // The strategy has not seen what was added while it worked: that is kept behind its result.
        this.restart(before.length === length ? after : [...after, ...before.slice(length)]);
        this.reportCompaction(strategy, before.slice(0, length), after);
      }
      const kept = this.isPaid ? this.keepView(strategy, after, added) : undefined;
      return kept === undefined ? this.view : andThen(kept, () => this.view);
    };
    return andThen(strategy.compact(before, this.contextFor(options)), take);
  }

  /**
   * Keeps what a compaction has made of the history and of the first `added` messages of this run. The newest ones are not a part of it, as
   * long as they are unchanged. So mostly it is a view of what is stored already, and is kept whatever becomes of the run.
   */
  private keepView(
    strategy: CompactionStrategy,
    after: readonly ChatMessage[],
    added: number,
  ): MaybePromise<void> {
    const { past, own } = this;
    if (past === undefined || own === undefined) return undefined;
    let same = 0;
    while (same < added && after.at(-1 - same) === own[added - 1 - same]) same++;
    const messages = after.slice(0, after.length - same);
    this.made = { strategy: nameOf(strategy), covered: past.length + added - same, messages };
    return added === same ? this.store(this.made) : undefined;
  }

  /** If it cannot be stored, the next run pays for another one. */
  private store(view: View): MaybePromise<void> {
    const { past = [], own = [], exec } = this;
    const key = this.key();
    if (key === undefined) return undefined;
    this.made = undefined;
    return tryOrLog(exec, "warn", `what ${view.strategy} has made could not be kept`, () =>
      exec.ports.history?.storeView?.(key, storedView(view, [...past, ...own])),
    );
  }

  /** The same object for the whole execution: a strategy remembers by it what it has paid for. */
  private contextFor(options: WindowOptions): CompactionContext {
    const { exec } = this;
    this.strategyContext ??= {
      llm: (model, request) => {
        this.isPaid = true;
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
      strategy: nameOf(strategy),
      before: before.length,
      after: after.length,
    });
  }
}

/** What a run begins with, as it is recorded: how many messages the history had, and the stored view of them if there is one. */
interface Beginning {
  readonly head: number;
  readonly view?: JsonValue | undefined;
}

function readBeginning(fact: JsonValue): Beginning {
  if (typeof fact !== "object" || fact === null) return { head: Number(fact) };
  const { head, view } = fact as { readonly head?: JsonValue; readonly view?: JsonValue };
  return { head: Number(head), view };
}

function nameOf(strategy: CompactionStrategy): string {
  return strategy.name ?? "compaction";
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
