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
/** Dollars per million tokens, used both for the server's bill and for the run's own accounting. */
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
  /** Delay of each answer in milliseconds, so that a person can follow (default: 0). */
  readonly paceMs?: number | undefined;
  /**
   * Given if the team runs in other processes: resolves when the archivist (background priority) has learned that it lost its
   * slot. In one process a short delay is enough; across processes nobody knows how long that takes.
   */
  readonly preempted?: Promise<void> | undefined;
}

/** Starts a real HTTP server on loopback that speaks OpenAI's protocol, answers for each role by script, and keeps a bill. */
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
    // The fact-checker must find all slots taken and the archivist at work, so that it preempts the archivist. So nobody finishes
    // before the fact-checker starts; otherwise the order would differ from run to run.
    if (say === factChecker) factCheck.reach();
    else if (isWaiting(say, conversation, parts)) await factCheck.reached(call);
    // An answer that frees a slot waits until the preemption is known.
    if (say === factChecker || isLastWord(say, parts)) await pause.reached(call);
    return { ...parts, delayMs: paceMs + (say === factChecker || say === researcher ? HEAD_START_MS : 0) };
  };
  const server = await loopbackOpenAI({
    script,
    billFile,
    prices: STAND_IN_PRICES,
    models: [STAND_IN_MODEL],
  });
  // A resumed run may have done its fact-check already: then nobody waits for it.
  if (server.bill().entries.some(({ idempotencyKey = "" }) => idempotencyKey.includes(FACT_CHECKER.name)))
    for (const moment of [factCheck, pause]) moment.reach();
  return server;
}

/** Who waits for the fact-check: the archivist in the middle of its work, and a researcher before its final answer. */
function isWaiting(say: Says, conversation: Conversation, parts: AnswerParts): boolean {
  return say === archivist ? conversation.exchanges.length === 1 : isLastWord(say, parts);
}

function isLastWord(say: Says, { toolCalls = [] }: AnswerParts): boolean {
  return say === researcher && toolCalls.length === 0;
}

/** Time for the archivist to learn that it has lost its slot, before the slot is free again. */
const HEAD_START_MS = 50;
/** How long to wait for a fact-check that may never come (no free slot, or no money left for it). */
const GIVE_UP_MS = 1_000;
/** Longer, since several processes share a busy machine. */
const GIVE_UP_ELSEWHERE_MS = 10_000;

/** An event that others wait for, up to a time limit. */
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
