import {
  type Agent,
  type ChatMessage,
  type Conversation,
  conversation,
  ConversationBusyError,
  isRaviError,
  recordedEvents,
  type RunEvent,
  runs,
} from "@ravi/sdk";
import { Turn } from "./turn.ts";

/** How many turns that have ended can still be read from the beginning. */
const KEPT = 100;
/** How long calls under way may take when the server is told to end. */
const GRACE_MS = 10_000;

/** What a page shows of a chat. */
export interface Shown {
  /** The turn that runs. */
  readonly runId: string | null;
  readonly messages: readonly ChatMessage[];
  /** The events of the turns after that which came to no answer, one list for each. */
  readonly lost: readonly (readonly RunEvent[])[];
}

/** All chats of the server. A chat is a conversation of the sdk; the journal keeps what must survive the process. */
export class Chats {
  private readonly agent: Agent;
  private readonly journal: string;
  /** The chats that have a turn. */
  private readonly busy = new Map<string, Conversation>();
  /** By run id, the oldest first. */
  private readonly turns = new Map<string, Turn>();

  constructor(agent: Agent, journal: string) {
    this.agent = agent;
    this.journal = journal;
  }

  /** Begins a turn. Rejects if the chat has one that has not ended. */
  say(chatId: string, text: string): Promise<Turn> {
    return this.take(chatId, async (chat) => new Turn(await chat.start(text)));
  }

  /** What was said before the turn that runs, and its run id: its events tell the rest. */
  async show(chatId: string): Promise<Shown> {
    const runId = this.current(chatId)?.runId ?? null;
    const chat = this.open(chatId);
    const messages = await chat.messages();
    await chat.close();
    // If it is just ending, those behind are its own.
    const before = runId === null ? messages : messages.slice(0, placeOf(runId).head);
    return { runId, messages: before, lost: await this.lost(chatId, before.length) };
  }

  /** Turns that have failed or were stopped are not part of the conversation, but the user has seen them. They are on record. */
  private async lost(chatId: string, head: number): Promise<Shown["lost"]> {
    const found: (readonly RunEvent[])[] = [];
    for (;;) {
      const runId = `${chatId}:${head}${found.length === 0 ? "" : `.${found.length}`}`;
      if (this.turns.get(runId)?.isHere === true) return found;
      try {
        found.push(await recordedEvents(runId, { journal: this.journal }));
      } catch (error) {
        // There is no such run, or no run at all.
        if (isRaviError(error, "INVALID_VALUE")) return found;
        throw error;
      }
    }
  }

  /** The turn that the chat is in; undefined if it waits for the user. */
  current(chatId: string): Turn | undefined {
    return this.turns.values().find(({ runId, isHere }) => isHere && placeOf(runId).chatId === chatId);
  }

  turn(runId: string): Turn | undefined {
    return this.turns.get(runId);
  }

  /** Continues what an earlier process has left, whether it was told to end or killed. Returns how many turns that are. */
  async resumeAll(): Promise<number> {
    const isOpen = ["running", "suspended"];
    const left = (await runs({ journal: this.journal })).filter(({ status }) => isOpen.includes(status));
    let count = 0;
    for (const chatId of new Set(left.map(({ runId }) => placeOf(runId).chatId))) {
      try {
        const turn = await this.take(chatId, async (chat) => {
          const handle = await chat.resume();
          return handle && new Turn(handle);
        });
        if (turn !== undefined) count++;
      } catch (error) {
        // One that cannot be continued, or that another process works on, must not keep the server from the others.
        console.error(
          `chat ${chatId} is not continued: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
    return count;
  }

  /** Leaves all turns to the next process. */
  async close(): Promise<void> {
    const open = [...this.turns.values()].filter(({ isHere }) => isHere);
    await Promise.allSettled(open.map((turn) => turn.suspend(GRACE_MS)));
    await Promise.all(Array.from(this.busy.values(), (chat) => chat.close()));
  }

  /** Has the chat until the turn that `begin` begins is over, or if there is none. Resolves when the turn is on record. */
  private async take<T extends Turn | undefined>(
    chatId: string,
    begin: (chat: Conversation) => Promise<T>,
  ): Promise<T> {
    if (this.busy.has(chatId))
      throw new ConversationBusyError({
        field: `chat ${chatId}`,
        value: "busy",
        expected: "one whose turn has ended",
      });
    const chat = this.open(chatId);
    this.busy.set(chatId, chat);
    const leave = async (): Promise<void> => {
      this.busy.delete(chatId);
      await chat.close();
    };
    try {
      const turn = await begin(chat);
      await turn?.begun();
      if (turn === undefined) await leave();
      else this.keep(turn, leave);
      return turn;
    } catch (error) {
      await leave();
      throw error;
    }
  }

  private keep(turn: Turn, leave: () => Promise<void>): void {
    void turn.over.then(leave);
    this.turns.set(turn.runId, turn);
    const over = [...this.turns].filter(([, { isHere }]) => !isHere);
    for (const [runId] of over.slice(0, -KEPT)) this.turns.delete(runId);
  }

  private open(id: string): Conversation {
    const { agent, journal } = this;
    const budget = { tokens: 100_000, turns: 20 };
    return conversation(agent, { id, journal, budget, handleSignals: false });
  }
}

/** A conversation names its runs by its own id and the number of messages before them: "ada:2", or "ada:2.1" after one that failed. */
function placeOf(runId: string): { readonly chatId: string; readonly head: number } {
  const at = runId.lastIndexOf(":");
  return { chatId: runId.slice(0, at), head: Number.parseInt(runId.slice(at + 1), 10) };
}
