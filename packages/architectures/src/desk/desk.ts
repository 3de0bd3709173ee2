import {
  type Agent,
  type AgentSession,
  type ChatMessage,
  type Dependencies,
  isPromiseLike,
  type JsonValue,
  type LLMClient,
  type LlmLeaf,
  type ModelRequest,
  type RaviError,
} from "@ravi/kernel";
import { isStop, type LoopExtension, type LoopPlan, toolLoop, truncateText } from "@ravi/kernel/loop";
import { LaneContext } from "../context/lane-context.ts";
import { findingsOf, landSession } from "../landing.ts";
import { interrupt, talkOf } from "../session.ts";
import { loopPlan } from "./loop-plan.ts";
import { MOST_CHARS, type Said, saidBy, saidIn, type Worked, workedOut } from "./said.ts";
import { spawnChild, spawnChildren } from "./worker.ts";

/** One question to a model, outside of any tool loop. */
export interface Question {
  readonly user: string;
  /** Added to the agent's instructions. */
  readonly system?: string | undefined;
  /** Somebody else's judgement: the agent's own model otherwise. */
  readonly model?: LLMClient | undefined;
}

export interface WorkOptions {
  /** Another tool loop than that of the agent itself. */
  readonly plan?: LoopPlan | undefined;
  readonly extension?: LoopExtension | undefined;
  /** What it is a part of the work of, in words: when it is cut off, what was found by then is among the findings. */
  readonly part?: string | undefined;
  /**
   * `false`, and so it is with a part: the money for the last turn is left to the strategy, and running out of money is an error
   * here.
   */
  readonly land?: boolean | undefined;
}

export interface Answers {
  /** In the order asked; undefined where a call failed. */
  readonly said: readonly (Said | undefined)[];
  /** What ends the run: a limit was met, or nobody could answer. */
  readonly stop: RaviError | undefined;
}

/** All that a strategy does in one run, in the words of its trade: asking, working with tools, hiring, and ending. */
export class Desk {
  readonly session: AgentSession;
  readonly deps: Dependencies;
  /** What is to be done. */
  readonly task: string;
  /** The conversation before it, without the system prompt. */
  private readonly past: readonly ChatMessage[];

  private constructor(session: AgentSession, deps: Dependencies, task: string, past: readonly ChatMessage[]) {
    this.session = session;
    this.deps = deps;
    this.task = task;
    this.past = past;
  }

  /** Appends the prompt to the session; what is there already is not seeded anew. */
  static async open(session: AgentSession, deps: Dependencies, prompt: string): Promise<Desk> {
    const past = await adoptConversation(session, deps);
    await say(session, deps, { role: "user", content: prompt });
    return new Desk(session, deps, prompt, talkOf(past));
  }

  async ask(question: Question): Promise<Said> {
    const { model, request } = this.leafFor(question);
    return saidBy(await this.deps.runtime.llm(model, request));
  }

  /** Single calls at once. One that fails is left out; when all fail, the first failure ends the run. */
  async askAll(questions: readonly Question[]): Promise<Answers> {
    const outcomes = await this.deps.runtime.batch(questions.map((question) => this.leafFor(question)));
    const said = outcomes.map((outcome) => ("response" in outcome ? saidBy(outcome.response) : undefined));
    const errors = outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []));
    const stop = errors.find(isStop) ?? (errors.length === outcomes.length ? errors[0] : undefined);
    return { said, stop };
  }

  /** Works on something with the agent's tools, in a conversation of its own. What was done by then is kept when it is cut off. */
  async work(prompt: string, options: WorkOptions = {}): Promise<Said> {
    const { deps, session } = this;
    const {
      plan = loopPlan(deps, session.instructions),
      extension,
      part,
      land = part === undefined,
    } = options;
    const lane = new LaneContext(deps.runtime, { past: this.past, land });
    try {
      const said = saidIn(await toolLoop(plan, lane, prompt, extension));
      if (!land && lane.outOfBudget !== undefined) throw lane.outOfBudget;
      return said;
    } catch (error) {
      this.keep(lane, part);
      throw error;
    }
  }

  async hire(agent: Agent, input: string): Promise<Worked> {
    const outcome = await spawnChild(this.deps, { agent, input });
    // Where it was cancelled with the whole run, this run ends here.
    if (outcome.status === "cancelled") await this.deps.runtime.check();
    return workedOut(outcome);
  }

  /** Several at once. Whoever has failed may have been stopped with the whole run, which is for the asker to check. */
  async hireAll(leaves: readonly { readonly agent: Agent; readonly input: string }[]): Promise<Worked[]> {
    return (await spawnChildren(this.deps, leaves)).map(workedOut);
  }

  /** The best answer so far: what the run gives when it is cut off. An empty one is not better than any. */
  best(text: string): void {
    if (text.trim() === "") return;
    this.session.output = text;
    this.deps.runtime.draft?.(text);
  }

  /** What is known so far, for a last turn that makes an answer of it when the money ends. */
  findings(text: string): void {
    this.session.metadata["findings"] = text;
    if (this.session.output === "") this.deps.runtime.draft?.(text);
  }

  /** What a strategy wants to be known about its run. */
  note(key: string, value: JsonValue): void {
    this.session.metadata[key] = value;
  }

  /** Ends with an answer. One that was cut off is not passed on as whole. */
  async finish({ text, stopReason }: Said): Promise<void> {
    const { session, deps } = this;
    // Whoever was to answer had no money left: the last turn, which is kept for this run, makes what can be made.
    if (stopReason === "budget" && text.trim() === "") return landSession(session, deps);
    if (text.trim() !== "" || session.output === "") session.output = text;
    if (stopReason !== "done") interrupt(session, stopReason);
    delete session.metadata["findings"];
    if (session.output.trim() !== "")
      await say(session, deps, { role: "assistant", content: session.output });
  }

  requestFor({ system, user }: Question): ModelRequest {
    const { instructions } = this.session;
    const prompt = [instructions, system ?? ""].filter((part) => part !== "").join("\n\n");
    const head: readonly ChatMessage[] = prompt === "" ? [] : [{ role: "system", content: prompt }];
    return { messages: [...head, ...this.past, { role: "user", content: user }] };
  }

  /** What somebody has found who was cut off: it was paid for. */
  private keep(lane: LaneContext, part: string | undefined): void {
    const { session } = this;
    const known = findingsOf(session);
    if (part === undefined) {
      if (session.output === "" && known === undefined) this.best(lane.lastText);
      return;
    }
    if (lane.found === "") return;
    const found = `${part}\n(not finished) ${truncateText(lane.found, MOST_CHARS)}`;
    this.findings(known === undefined ? found : `${known}\n\n${found}`);
  }

  private leafFor(question: Question): LlmLeaf {
    return { kind: "llm", model: question.model ?? this.deps.model, request: this.requestFor(question) };
  }
}

/**
 * Makes the session and the context's window say the same. A session that goes on brings its conversation along; a new one
 * takes up what the history has kept.
 */
export async function adoptConversation(
  session: AgentSession,
  { runtime }: Dependencies,
): Promise<readonly ChatMessage[]> {
  const { instructions } = session;
  const system = instructions === "" ? {} : { system: instructions };
  const window = runtime.window(system);
  const kept = (isPromiseLike(window) ? await window : window).filter(isTalk);
  if (session.messages.length === 0) {
    if (instructions !== "") session.messages.push({ role: "system", content: instructions });
    session.messages.push(...kept);
  } else if (kept.length === 0) {
    for (const message of session.messages.filter(isTalk)) await runtime.remember(message);
  }
  return session.messages.filter(isTalk);
}

function isTalk({ role }: ChatMessage): boolean {
  return role !== "system";
}

async function say(session: AgentSession, { runtime }: Dependencies, message: ChatMessage): Promise<void> {
  session.messages.push(message);
  await runtime.remember(message);
}
