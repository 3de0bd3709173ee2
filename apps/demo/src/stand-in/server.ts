import { type ModelRequest, textOf } from "@ravi/kernel";
import {
  type Answer,
  type AnswerParts,
  type LoopbackCall,
  loopbackOpenAI,
  type LoopbackServer,
} from "@ravi/testing";
import { FACT_CHECKER } from "../roles.ts";
import { type Conversation, readConversation } from "./conversation.ts";
import { analyst, archivist, factChecker, lead, researcher, writer } from "./staff.ts";

export const STAND_IN_MODEL = "stand-in";
/** Dollars per million tokens, on the server's bill and in our own books. */
export const STAND_IN_PRICES = { input: 1, output: 5 } as const;

type Says = (conversation: Conversation) => Exclude<Answer, Error>;

const STAFF: Readonly<Record<string, Says>> = {
  "You are the lead.": lead,
  "You are a researcher.": researcher,
  "You are the fact-checker.": factChecker,
  "You are the archivist.": archivist,
  "You are the analyst.": analyst,
  "You are the writer.": writer,
};

export interface StandInOptions {
  readonly billFile?: string | undefined;
  /** How long an answer takes, so that a person can follow. At once, unless given. */
  readonly paceMs?: number | undefined;
  /**
   * Where the team is in other processes: whether the background one has learned that it lost its slot. In this process a head
   * start is enough; elsewhere nobody knows how long that takes.
   */
  readonly preempted?: Promise<void> | undefined;
}

/** A real server on loopback that speaks OpenAI's protocol, answers as the staff would, and keeps a bill. */
export async function startStandIn(options: StandInOptions): Promise<LoopbackServer> {
  const { billFile, paceMs = 0, preempted } = options;
  const giveUpMs = preempted === undefined ? GIVE_UP_MS : GIVE_UP_ELSEWHERE_MS;
  const factCheck = new Moment(giveUpMs);
  const pause = new Moment(giveUpMs);
  void preempted?.then(() => pause.reach());
  if (preempted === undefined) pause.reach();
  const script = async (request: ModelRequest, call: LoopbackCall): Promise<Answer> => {
    const role = roleOf(request);
    const say = STAFF[role];
    if (say === undefined) return new Error(`the stand-in knows no role ${JSON.stringify(role)}`);
    const conversation = readConversation(request);
    const answer = say(conversation);
    const parts = typeof answer === "string" ? { text: answer } : answer;
    // The urgent helper is to meet the background one at work, with every seat taken. So nobody is done before it is there:
    // otherwise the order would be another each time.
    if (say === factChecker) factCheck.reach();
    else if (isWaiting(say, conversation, parts)) await factCheck.reached(call);
    // Whoever gives a seat back does so after that.
    if (say === factChecker || isLastWord(say, parts)) await pause.reached(call);
    return { ...parts, delayMs: paceMs + (say === factChecker || say === researcher ? HEAD_START_MS : 0) };
  };
  const server = await loopbackOpenAI({
    script,
    billFile,
    prices: STAND_IN_PRICES,
    models: [STAND_IN_MODEL],
  });
  // A resumed run may have had its fact-check already.
  if (server.bill().entries.some(({ idempotencyKey = "" }) => idempotencyKey.includes(FACT_CHECKER.name)))
    for (const moment of [factCheck, pause]) moment.reach();
  return server;
}

/** The archivist in the middle of its work, and a researcher with its last word. */
function isWaiting(say: Says, conversation: Conversation, parts: AnswerParts): boolean {
  return say === archivist ? conversation.exchanges.length === 1 : isLastWord(say, parts);
}

function isLastWord(say: Says, { toolCalls = [] }: AnswerParts): boolean {
  return say === researcher && toolCalls.length === 0;
}

/** What the archivist needs to learn that it has lost its slot, before the slot is free again. */
const HEAD_START_MS = 50;
/** A fact-check that never comes (nobody may be hired, or there is no money for it) holds nothing up for long. */
const GIVE_UP_MS = 1_000;
/** Processes that share a busy machine take longer. */
const GIVE_UP_ELSEWHERE_MS = 10_000;

/** A moment that some wait for, and give up waiting for. */
class Moment {
  private readonly promise: Promise<void>;
  private readonly resolve: () => void;
  private readonly giveUpMs: number;

  constructor(giveUpMs: number) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.promise = promise;
    this.resolve = resolve;
    this.giveUpMs = giveUpMs;
  }

  reach(): void {
    this.resolve();
  }

  async reached({ signal }: LoopbackCall): Promise<void> {
    const timer = setTimeout(this.resolve, this.giveUpMs);
    signal.addEventListener("abort", this.resolve);
    await this.promise;
    clearTimeout(timer);
    signal.removeEventListener("abort", this.resolve);
  }
}

function roleOf({ messages }: ModelRequest): string {
  const [first] = messages;
  return first?.role === "system" ? (textOf(first).split("\n", 1)[0] ?? "") : "";
}
