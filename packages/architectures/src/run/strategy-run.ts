import {
  type Agent,
  type AgentSession,
  type Attachment,
  type ChatMessage,
  type Dependencies,
  isPromiseLike,
  type JsonValue,
  type LLMClient,
  type LlmLeaf,
  type ModelRequest,
  type RaviError,
} from "@ravi/kernel";
import {
  isStop,
  type LoopExtension,
  type LoopPlan,
  toolLoop,
  truncateText,
  userMessage,
} from "@ravi/kernel/loop";
import { IsolatedContext } from "../context/isolated-context.ts";
import { findingsOf, landSession } from "../landing.ts";
import { interrupt, withoutToolCalls } from "../session.ts";
import { loopPlan } from "./loop-plan.ts";
import { MAX_CHARS, type Answer, answerFrom, answerOf, type WorkOutcome, outcomeOf } from "./answer.ts";
import { spawnChild, spawnChildren } from "./worker.ts";

/** One question to a model, outside of any tool loop. */
export interface Question {
  /** The user message. */
  readonly user: string;
  /** Default: the agent's own model. */
  readonly model?: LLMClient | undefined;
  /** Whether observers are not told the answer, because only the strategy reads it: a plan, a score, a choice. Default: false. */
  readonly quiet?: boolean | undefined;
}

export interface WorkOptions {
  /** A tool loop other than the agent's own. */
  readonly plan?: LoopPlan | undefined;
  readonly extension?: LoopExtension | undefined;
  /**
   * Set it if this is one part of the work, and describe the part. If it is cut off, what it found is added to the findings under
   * this name.
   */
  readonly part?: string | undefined;
  /**
   * If `false`, the last turn is left to the strategy, and an exhausted budget throws here. Default: true, or false if `part` is
   * set.
   */
  readonly land?: boolean | undefined;
}

export interface Answers {
  /** In the order of the questions; undefined if a call failed. */
  readonly answers: readonly (Answer | undefined)[];
  /** The error that ends the run: a limit was reached, or every call failed. */
  readonly stop: RaviError | undefined;
}

/** The operations of a strategy in one run: asking a model, working with tools, hiring, and finishing. */
export class StrategyRun {
  readonly session: AgentSession;
  readonly deps: Dependencies;
  /** The prompt of this run. */
  readonly task: string;
  /** The conversation before the prompt, without the system prompt. */
  private readonly past: readonly ChatMessage[];

  private constructor(session: AgentSession, deps: Dependencies, task: string, past: readonly ChatMessage[]) {
    this.session = session;
    this.deps = deps;
    this.task = task;
    this.past = past;
  }

  /** Appends the prompt to the session and to the context's conversation. An existing conversation is continued. */
  static async open(session: AgentSession, deps: Dependencies, prompt: string): Promise<StrategyRun> {
    const asked = userMessage(prompt, deps.inbox?.attachments);
    const past = await adoptConversation(session, deps, [asked]);
    await appendMessage(session, deps, asked);
    return new StrategyRun(session, deps, prompt, withoutToolCalls(past));
  }

  /** What came with the prompt. Everybody who works on it gets it: the agent's own models, and those that it hires. */
  private get attachments(): readonly Attachment[] | undefined {
    return this.deps.inbox?.attachments;
  }

  async ask(question: Question): Promise<Answer> {
    const { model, request, quiet } = this.leafFor(question);
    return answerFrom(await this.deps.runtime.llm(model, request, { quiet }));
  }

  /**
   * Asks all questions at once, quietly: the texts of answers that come at the same time would be mixed up. A call that fails is
   * undefined in the result; if all fail, the first failure is returned as `stop`.
   */
  async askAll(questions: readonly Omit<Question, "quiet">[]): Promise<Answers> {
    const leaves = questions.map((question) => this.leafFor({ ...question, quiet: true }));
    const outcomes = await this.deps.runtime.batch(leaves);
    const answers = outcomes.map((outcome) =>
      "response" in outcome ? answerFrom(outcome.response) : undefined,
    );
    const errors = outcomes.flatMap((outcome) => ("error" in outcome ? [outcome.error] : []));
    const stop = errors.find(isStop) ?? (errors.length === outcomes.length ? errors[0] : undefined);
    return { answers, stop };
  }

  /** Works on a prompt with the agent's tools, in a separate conversation. If it is cut off, what was done by then is kept. */
  async work(prompt: string, options: WorkOptions = {}): Promise<Answer> {
    const { deps, session, attachments } = this;
    const {
      plan = loopPlan(deps, session.instructions),
      extension,
      part,
      land = part === undefined,
    } = options;
    const isolated = new IsolatedContext(deps.runtime, { past: this.past, land });
    try {
      const answer = answerOf(await toolLoop(plan, isolated, { input: prompt, attachments }, extension));
      if (!land && isolated.outOfBudget !== undefined) throw isolated.outOfBudget;
      return answer;
    } catch (error) {
      this.keepUnfinished(isolated, part);
      throw error;
    }
  }

  async hire(agent: Agent, input: string): Promise<WorkOutcome> {
    const { deps, attachments } = this;
    const outcome = await spawnChild(deps, { agent, input, attachments });
    // If it was cancelled together with the whole run, this throws.
    if (outcome.status === "cancelled") await deps.runtime.check();
    return outcomeOf(outcome);
  }

  /**
   * Hires several at once. A worker that failed may have been stopped together with the whole run; the caller must check that.
   */
  async hireAll(
    leaves: readonly { readonly agent: Agent; readonly input: string }[],
  ): Promise<WorkOutcome[]> {
    const { deps, attachments } = this;
    const outcomes = await spawnChildren(
      deps,
      leaves.map((leaf) => ({ ...leaf, attachments })),
    );
    return outcomes.map(outcomeOf);
  }

  /** Stores the best answer so far, which is the result if the run is cut off. An empty one is ignored. */
  best(text: string): void {
    if (text.trim() === "") return;
    this.session.output = text;
    this.deps.runtime.draft?.(text);
  }

  /** Stores what is known so far. If the budget ends, the last turn makes an answer of it. */
  findings(text: string): void {
    this.session.metadata["findings"] = text;
    if (this.session.output === "") this.deps.runtime.draft?.(text);
  }

  /** Stores a fact about the run in `session.metadata`. */
  note(key: string, value: JsonValue): void {
    this.session.metadata[key] = value;
  }

  /**
   * Ends the run with an answer. An answer that was cut off makes the run `partial`. If it is empty, the best answer so far is kept, or, if
   * there is none, what was found.
   */
  async finish({ text, stopReason, problem }: Answer): Promise<void> {
    const { session, deps } = this;
    // The answering call had no budget left: make an answer in the last turn, which is reserved for this run.
    if (stopReason === "budget" && text.trim() === "") return landSession(session, deps);
    if (text.trim() !== "") session.output = text;
    else if (session.output === "") session.output = findingsOf(session) ?? "";
    if (stopReason !== "done") interrupt(session, stopReason, problem);
    delete session.metadata["findings"];
    if (session.output.trim() !== "")
      await appendMessage(session, deps, { role: "assistant", content: session.output });
  }

  requestFor({ user }: Question): ModelRequest {
    const { instructions: content } = this.session;
    const head: readonly ChatMessage[] = content === "" ? [] : [{ role: "system", content }];
    return { messages: [...head, ...this.past, userMessage(user, this.attachments)] };
  }

  /** Keeps what was found by work that was cut off: it was paid for. */
  private keepUnfinished(isolated: IsolatedContext, part: string | undefined): void {
    const { session } = this;
    const known = findingsOf(session);
    if (part === undefined) {
      if (session.output === "" && known === undefined) this.best(isolated.lastText);
      return;
    }
    if (isolated.found === "") return;
    const found = `${part}\n(not finished) ${truncateText(isolated.found, MAX_CHARS)}`;
    this.findings(known === undefined ? found : `${known}\n\n${found}`);
  }

  private leafFor(question: Question): LlmLeaf {
    const { model = this.deps.model, quiet } = question;
    return { kind: "llm", model, request: this.requestFor(question), quiet };
  }
}

/**
 * Makes the session and the context's conversation contain the same messages. A session that continues brings its own conversation; a new
 * session takes over what the context has kept, shortened so that there is room for `alsoSent`.
 */
export async function adoptConversation(
  session: AgentSession,
  deps: Dependencies,
  alsoSent?: readonly ChatMessage[],
): Promise<readonly ChatMessage[]> {
  const { runtime } = deps;
  const { instructions } = session;
  const window = runtime.window({
    ...loopPlan(deps, instructions).window,
    ...(instructions !== "" && { system: instructions }),
    ...(alsoSent !== undefined && { alsoSent }),
  });
  const kept = (isPromiseLike(window) ? await window : window).filter(isNotSystem);
  if (session.messages.length === 0) {
    if (instructions !== "") session.messages.push({ role: "system", content: instructions });
    session.messages.push(...kept);
  } else if (kept.length === 0) {
    for (const message of session.messages.filter(isNotSystem)) await runtime.remember(message);
  }
  return session.messages.filter(isNotSystem);
}

function isNotSystem({ role }: ChatMessage): boolean {
  return role !== "system";
}

async function appendMessage(
  session: AgentSession,
  { runtime }: Dependencies,
  message: ChatMessage,
): Promise<void> {
  session.messages.push(message);
  await runtime.remember(message);
}
