import { createHash } from "node:crypto";
import { type AgentResult, isRaviError } from "@ravi/kernel";
import { abortable, userMessage } from "@ravi/kernel/loop";
import type { PromptEntry } from "../store/entry.ts";
import { runWithRetries } from "./retries.ts";
import { Engine } from "./engine.ts";
import type { TurnDeps } from "./deps.ts";
import { PromptList } from "./prompt-list.ts";

/** The system prompt that a replayed turn was first sent with. */
type Recorded = Pick<PromptEntry, "id" | "text">;

/** One turn, from the guardrails' start to `agent_end`. What follows it (`save_point`, compaction, `settled`) is done by the runner. */
export class Turn {
  private readonly deps: TurnDeps;
  private engine: Engine | undefined;
  /** The beginning of the ids of its entries. A replay gives the same again. */
  private prefix = "";

  constructor(deps: TurnDeps) {
    this.deps = deps;
  }

  /** The last text of the model. */
  get lastText(): string {
    return this.engine?.lastText ?? "";
  }

  /** The id of the compaction that may follow. It is none of the turn's own entries. */
  get compactionId(): string {
    return `${this.prefix}.c`;
  }

  async run(input: string): Promise<AgentResult<never>> {
    const { ctx, session } = this.deps;
    const prefix = (this.prefix = (await ctx.uuid()).replaceAll("-", ""));
    session.numberIds(prefix);
    let result: AgentResult<never>;
    try {
      const recorded = await this.findStart(prefix);
      result = await this.runSteps(input, `${prefix}-u`, recorded);
      await session.writeLeaf();
    } catch (error) {
      await this.afterFailure(error);
      throw error;
    }
    const { status, output } = result;
    await this.deps.emit("agent_end", { status: status === "completed" ? status : "partial", output });
    return result;
  }

  private async runSteps(
    input: string,
    userId: string,
    recorded: Recorded | undefined,
  ): Promise<AgentResult<never>> {
    const { deps } = this;
    const { ctx, session, guard, channel, emit } = deps;
    await guard.turnStart(ctx.signal);
    const { text } = await emit("input", { text: input, channel });
    const built = await abortable(deps.systemPrompt(await ctx.now()), ctx.signal);
    const { systemPrompt } = await emit("before_agent_start", { systemPrompt: built, input: text, channel });
    // If the stored prompt is the same, the one just built is used, because secrets were removed from the stored one.
    const isSame = recorded === undefined || recorded.id === promptId(systemPrompt);
    const system = isSame ? systemPrompt : recorded.text;
    deps.useSystemPrompt(system);
    const history = await session.messages();
    const { messages } = await emit("context", { messages: history });
    const list = new PromptList(system, messages);
    const prompt = await this.storePrompt(system);
    const engine = (this.engine = new Engine(deps, list));
    const first = { id: userId, ...(prompt !== undefined && { prompt }) };
    await deps.mailbox.storeFirst(() => engine.store(userMessage(text, deps.attachments), first));
    return runWithRetries(deps, engine, async () => {
      const shorter = await emit("context", { messages: await session.messages() });
      engine.list = new PromptList(system, shorter.messages);
    });
  }

  /** If this turn is a replay: goes back to where it began, and returns the system prompt that it was first sent with. */
  private async findStart(prefix: string): Promise<Recorded | undefined> {
    const { session } = this.deps;
    const userId = `${prefix}-u`;
    if (!session.has(userId)) return undefined;
    session.returnTo(session.beforeTurn(userId));
    const entry = await session.read(userId);
    if (entry.kind !== "message" || entry.prompt === undefined) return undefined;
    const prompt = await session.read(entry.prompt);
    return prompt.kind === "prompt" ? prompt : undefined;
  }

  /** Stores the system prompt once for all turns that use it, so that a resumed run is sent with the prompt that it began with. */
  private async storePrompt(text: string): Promise<string | undefined> {
    if (text === "") return undefined;
    const { session } = this.deps;
    const id = promptId(text);
    if (!session.has(id)) await session.append({ kind: "prompt", text }, id);
    return id;
  }

  /**
   * Nothing that was completed is dropped. If nothing was, and every attempt has failed, the user's message is dropped too
   * and the conversation stands where it stood, unless another run has built on that message meanwhile. A turn that was stopped keeps what was said.
   */
  private async afterFailure(error: unknown): Promise<void> {
    const { ctx, session, host, emit } = this.deps;
    const isPaused = isRaviError(error, "PAUSED") || isRaviError(error, "SUSPENDED");
    const isStopped = isPaused || ctx.signal.aborted || (await throws(() => ctx.check()));
    const isKept = isStopped || this.engine?.hasWork === true || session.isBuiltOn;
    try {
      if (!isKept) session.moveTo(session.beforeTurn());
      if (!isStopped) await session.writeLeaf();
    } catch (problem) {
      // The store itself may have failed. The first error is the one to report.
      host.collect({ source: "session", event: "agent_end", error: problem });
    }
    const status = isStopped ? "aborted" : "failed";
    await emit("agent_end", { status, output: "", error: this.deps.errorJSON(error) });
  }
}

function promptId(text: string): string {
  return `p-${createHash("sha256").update(text, "utf8").digest("hex").slice(0, 32)}`;
}

async function throws(check: () => PromiseLike<void> | void): Promise<boolean> {
  try {
    await check();
    return false;
  } catch {
    // It throws the reason for which the turn has ended or will end.
    return true;
  }
}
