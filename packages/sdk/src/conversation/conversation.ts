import {
  type Agent,
  agentName,
  type AnswerOf,
  type ChatMessage,
  checkFields,
  type HistoryKey,
  type HistoryProvider,
  InvalidValueError,
  type Journal,
  RunId,
  type RunSummary,
  SessionId,
  systemIds,
} from "@ravi/kernel";
import { asOwn } from "@ravi/kernel/loop";
import { ownLimits } from "../agents/made/blueprint.ts";
import { limitsFor } from "../limits.ts";
import { checkAgent, checkHost } from "../run/host/check.ts";
import { defaultHistory } from "../run/host/histories.ts";
import { borrowJournal } from "../run/host/journals.ts";
import type { SdkHandle } from "../run/handle.ts";
import { HOST_OPTIONS, type HostOptions, RUN_OPTIONS, type RunOptions } from "../run/options.ts";
import type { SdkResult } from "../run/result.ts";
import { start, startResume } from "../run/run.ts";
import {
  checkConversation,
  type ConversationOptions,
  type ConversationSpend,
  type ResumeTurnOptions,
  type TurnOptions,
} from "./options.ts";
import { turnBudget, withTurn } from "./spend.ts";
import { WatchedHandle } from "./watched-handle.ts";

/** A turn was asked for while another one runs in the same conversation. */
export class ConversationBusyError extends InvalidValueError {
  static override readonly name = "ConversationBusyError";
}

/** The run of the next turn, or of one that has begun and not ended. Without a journal it has no id yet. */
interface Place {
  readonly runId?: string | undefined;
  readonly isOpen: boolean;
}

/** A conversation with one agent. Each turn is a run of its own. */
export class Conversation<A extends Agent = Agent> {
  /** The `sessionId` of its runs. */
  readonly id: string;
  private readonly agent: A;
  private readonly options: ConversationOptions;
  private readonly history: HistoryProvider;
  private readonly key: HistoryKey;
  private spent: ConversationSpend;
  private handle: SdkHandle<AnswerOf<A>> | undefined;
  /** Resolves when the turn is over. Undefined if there is none. */
  private turn: Promise<void> | undefined;
  private closing: Promise<void> | undefined;

  /** Call `conversation(agent, options)` instead. */
  constructor(agent: A, options: ConversationOptions) {
    checkConversation(options);
    checkHost(options);
    checkAgent("agent", agent);
    limitsFor(options, ownLimits(agent));
    const { id = (options.ids ?? systemIds).uuid(), journal } = options;
    const { usd = 0, tokens = 0, messages = 0 } = options.used ?? {};
    this.key = { sessionId: SessionId(id), agentName: agentName(agent.id) };
    this.id = id;
    this.agent = agent;
    this.options = options;
    this.history = options.history ?? defaultHistory(typeof journal === "string" ? journal : undefined);
    this.spent = { usd, tokens, messages };
  }

  /** What the turns that ended in this object have used, added to the option `used`. */
  get used(): ConversationSpend {
    return this.spent;
  }

  /** Says something and returns the result of the turn. Rejects where `run` does, and if another turn runs. */
  async send(text: string, how?: TurnOptions): Promise<SdkResult<AnswerOf<A>>> {
    return (await this.take((place) => this.begin(place, text, how))).result;
  }

  /** As `send`, but resolves when the turn begins, with its handle. The first `events()` of it miss none. */
  async start(text: string, how?: TurnOptions): Promise<SdkHandle<AnswerOf<A>>> {
    return this.take((place) => new WatchedHandle(this.begin(place, text, how)));
  }

  /** Continues a turn that was suspended, or whose process was killed. Undefined if there is none. */
  async resume(how: ResumeTurnOptions = {}): Promise<SdkHandle<AnswerOf<A>> | undefined> {
    checkFields("resume options", how, ["decisions", "signal"]);
    const { agent: agents, history } = this;
    const { journal, ...host } = asOwn<HostOptions>(this.options, HOST_OPTIONS);
    const begin = ({ runId, isOpen }: Place): SdkHandle<AnswerOf<A>> | undefined => {
      if (!isOpen || runId === undefined || journal === undefined) return undefined;
      return new WatchedHandle(startResume(runId, { ...host, ...how, journal, agents, history }));
    };
    return this.take(begin, (found) => this.cutOff(found));
  }

  /** What was said in the turns that are completed, or were stopped early with a partial result. */
  async messages(): Promise<readonly ChatMessage[]> {
    this.checkOpen();
    return (await this.history.load(this.key)).messages;
  }

  /** Suspends the turn that runs (without a journal: cancels it), takes no other, and closes what this object has opened. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private begin({ runId, isOpen }: Place, text: string, how: TurnOptions = {}): SdkHandle<AnswerOf<A>> {
    checkFields("turn options", how, ["attachments", "signal"]);
    if (isOpen) {
      const expected = `no open turn, but run "${runId}" has not ended; chat.resume() continues it; after cancel("${runId}", reason, { journal }) it ends it`;
      throw new InvalidValueError({ field: this.name, value: "unanswered", expected });
    }
    const { agent, history, spent } = this;
    const options = asOwn<RunOptions>(this.options, RUN_OPTIONS);
    const budget = turnBudget(this.options, ownLimits(agent), { id: this.id, spent });
    return start(agent, text, { ...options, ...how, budget, sessionId: this.id, runId, history });
  }

  /** Has the place of the only turn until the run that `begin` starts is over. */
  private async take<H extends SdkHandle<AnswerOf<A>> | undefined>(
    begin: (place: Place) => H,
    find: (journal: Journal) => Promise<Place> = (journal) => this.place(journal),
  ): Promise<H> {
    this.checkOpen();
    if (this.turn !== undefined) {
      const expected = "idle: await the turn that runs, or add to it with handle.send()";
      throw new ConversationBusyError({ field: this.name, value: "busy", expected });
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.turn = promise;
    const leave = (result?: SdkResult): void => {
      if (result !== undefined) this.spent = withTurn(this.spent, result);
      this.turn = this.handle = undefined;
      resolve();
    };
    try {
      const borrowed = borrowJournal(this.options.journal, this.options.clock);
      try {
        const place = borrowed.journal === undefined ? { isOpen: false } : await find(borrowed.journal);
        this.checkOpen();
        const handle = begin(place);
        this.handle = handle;
        // In the order of the calls: who awaits the result finds the place free.
        if (handle === undefined) leave();
        else void handle.result.then(leave, () => leave());
        return handle;
      } finally {
        await borrowed.release();
      }
    } catch (error) {
      if (this.handle === undefined) leave();
      throw error;
    }
  }

  /** Where the next turn begins, or the turn that has begun there. */
  private async place(journal: Journal): Promise<Place> {
    for (;;) {
      const head = await this.head();
      const place = await this.placeAt(head, journal);
      // A turn of another process may have ended since the head was read, and moved it.
      if (place.isOpen || place.runId === `${this.id}:${head}` || (await this.head()) === head) return place;
    }
  }

  /** The turn to resume. One that was killed when what was said was stored, but not its end, is before the last message of the user. */
  private async cutOff(journal: Journal): Promise<Place> {
    const place = await this.place(journal);
    if (place.isOpen) return place;
    const { messages } = await this.history.load(this.key);
    const last = messages.findLastIndex(({ role }) => role === "user");
    return last === -1 ? place : this.placeAt(last, journal);
  }

  /**
   * The id of a run says where in the conversation it begins. So a turn that was cut off is found again, and of two processes only one
   * can begin the next. Turns that failed left the conversation where it was: the one after them has a number behind that.
   */
  private async placeAt(head: number, journal: Journal): Promise<Place> {
    for (let n = 0; ; n++) {
      const runId = `${this.id}:${head}${n === 0 ? "" : `.${n}`}`;
      const status = (await summaryOf(journal, RunId(runId)))?.status ?? "pending";
      if (status === "pending") return { runId, isOpen: false };
      if (status === "running" || status === "suspended") return { runId, isOpen: true };
    }
  }

  private async head(): Promise<number> {
    return (await this.history.load(this.key, 0)).head;
  }

  private async end(): Promise<void> {
    // How it ends is said by the result of its handle.
    await this.handle?.suspend().catch(() => {});
    await this.turn;
    const { id, journal, history } = this.options;
    if (history !== undefined) return;
    // Nobody else has its name, so nobody could ask for it again. A journal has it.
    if (id === undefined && journal === undefined) await this.history.clear(this.key);
    await this.history.close?.();
  }

  private get name(): string {
    return `conversation ${this.id}`;
  }

  private checkOpen(): void {
    if (this.closing === undefined) return;
    const expected = "open; this one is closed: conversation(agent, { id, … }) opens it again";
    throw new InvalidValueError({ field: this.name, value: "closed", expected });
  }
}

/** Creates a conversation with an agent, or continues the one with that `id`. Nothing is opened before it is used. */
export function conversation<T = unknown, A extends Agent<T> = Agent<T>>(
  agent: A,
  options: ConversationOptions = {},
): Conversation<A> {
  return new Conversation(agent, options);
}

async function summaryOf(journal: Journal, runId: RunId): Promise<RunSummary | undefined> {
  if (journal.summary !== undefined) return journal.summary(runId);
  return (await journal.list()).find((run) => run.runId === runId);
}
