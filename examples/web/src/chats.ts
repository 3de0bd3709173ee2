import { type Agent, type ChatMessage, type Conversation, conversation, runs } from "@ravi/sdk";
import { Turn } from "./turn.ts";

/** How many turns that have ended can still be read from the beginning. */
const KEPT = 100;
/** How long calls under way may take when the server is told to end. */
const GRACE_MS = 10_000;

/** All chats of the server. A chat is a conversation of the sdk; the journal keeps what must survive the process. */
export class Chats {
  private readonly agent: Agent;
  private readonly journal: string;
  private readonly open = new Map<string, Conversation>();
  /** By run id, the oldest first. */
  private readonly turns = new Map<string, Turn>();
  /** The last turn of each chat. */
  private readonly last = new Map<string, Turn>();

  constructor(agent: Agent, journal: string) {
    this.agent = agent;
    this.journal = journal;
  }

  /** Begins a turn. Rejects if the chat has one that has not ended. */
  async say(chatId: string, text: string): Promise<Turn> {
    const turn = this.keep(chatId, new Turn(await this.chat(chatId).start(text)));
    await turn.begun();
    return turn;
  }

  /** What was said before the turn that runs, and its run id: its events tell the rest. */
  async show(
    chatId: string,
  ): Promise<{ readonly runId: string | null; readonly messages: readonly ChatMessage[] }> {
    const runId = this.current(chatId)?.runId;
    const messages = await this.chat(chatId).messages();
    if (runId === undefined) return { runId: null, messages };
    // The run "ada:2" begins after two messages. If it is just ending, those behind are its own.
    return {
      runId,
      messages: messages.slice(0, Number.parseInt(runId.slice(runId.lastIndexOf(":") + 1), 10)),
    };
  }

  /** The turn that the chat is in; undefined if it waits for the user. */
  current(chatId: string): Turn | undefined {
    const turn = this.last.get(chatId);
    return turn?.isHere === true ? turn : undefined;
  }

  turn(runId: string): Turn | undefined {
    return this.turns.get(runId);
  }

  /** Continues what an earlier process has left, whether it was told to end or killed. Returns how many turns that are. */
  async resumeAll(): Promise<number> {
    const isOpen = ["running", "suspended"];
    const left = (await runs({ journal: this.journal })).filter(({ status }) => isOpen.includes(status));
    // A conversation names its runs by its own id and a place: "ada:2".
    const chatIds = new Set(left.map(({ runId }) => runId.slice(0, runId.lastIndexOf(":"))));
    let count = 0;
    for (const chatId of chatIds) {
      const handle = await this.chat(chatId).resume();
      if (handle === undefined) continue;
      this.keep(chatId, new Turn(handle));
      count++;
    }
    return count;
  }

  /** Leaves all turns to the next process. */
  async close(): Promise<void> {
    const open = [...this.turns.values()].filter(({ hasEnded }) => !hasEnded);
    await Promise.allSettled(open.map((turn) => turn.suspend(GRACE_MS)));
    await Promise.all(Array.from(this.open.values(), (chat) => chat.close()));
  }

  private chat(chatId: string): Conversation {
    let chat = this.open.get(chatId);
    if (chat === undefined) {
      const { agent, journal } = this;
      chat = conversation(agent, {
        id: chatId,
        journal,
        budget: { tokens: 100_000, turns: 20 },
        handleSignals: false,
      });
      this.open.set(chatId, chat);
    }
    return chat;
  }

  private keep(chatId: string, turn: Turn): Turn {
    this.turns.set(turn.runId, turn);
    this.last.set(chatId, turn);
    const ended = [...this.turns].filter(([, { hasEnded }]) => hasEnded);
    for (const [runId] of ended.slice(0, -KEPT)) this.turns.delete(runId);
    return turn;
  }
}
