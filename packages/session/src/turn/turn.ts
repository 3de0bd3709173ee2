import { createHash } from "node:crypto";
import { type AgentResult, isRaviError } from "@ravi/kernel";
import { abortable } from "../extensions/abortable.ts";
import type { PromptEntry } from "../store/entry.ts";
import { attempts } from "./attempts.ts";
import { Engine } from "./engine.ts";
import type { TurnKit } from "./kit.ts";
import { PromptList } from "./prompt-list.ts";

/** The system prompt that a replayed turn was first sent with. */
type Recorded = Pick<PromptEntry, "id" | "text">;

/** One turn, in the order of O3. What follows it (compaction, `settled`) is done by the agent. */
export class Turn {
  private readonly kit: TurnKit;
  private engine: Engine | undefined;
  /** Where the conversation stood before the turn. */
  private start: string | null = null;

  constructor(kit: TurnKit) {
    this.kit = kit;
  }

  /** The last text of the model. */
  get said(): string {
    return this.engine?.said ?? "";
  }

  async run(input: string): Promise<AgentResult<never>> {
    const { ctx, session } = this.kit;
    // A replay gives the same id again, and so the same names to the turn's entries.
    const prefix = (await ctx.uuid()).replaceAll("-", "");
    session.number(prefix);
    let result: AgentResult<never>;
    try {
      const recorded = await this.findStart(prefix);
      result = await this.inOrder(input, `${prefix}-u`, recorded);
      await session.keepLeaf();
    } catch (error) {
      await this.failed(error);
      throw error;
    } finally {
      session.number(undefined);
    }
    const { status, output } = result;
    await this.kit.emit("agent_end", { status: status === "completed" ? status : "partial", output });
    return result;
  }

  private async inOrder(
    input: string,
    userId: string,
    recorded: Recorded | undefined,
  ): Promise<AgentResult<never>> {
    const { kit } = this;
    const { ctx, session, guard, channel, emit } = kit;
    await guard.turnStart(ctx.signal);
    const { text } = await emit("input", { text: input, channel });
    const built = await abortable(kit.systemPrompt(await ctx.now()), ctx.signal);
    const { systemPrompt } = await emit("before_agent_start", { systemPrompt: built, input: text, channel });
    // If the stored prompt is the same, the one just built is used, because secrets were removed from the stored one.
    const isSame = recorded === undefined || recorded.id === promptId(systemPrompt);
    const system = isSame ? systemPrompt : recorded.text;
    kit.useSystemPrompt(system);
    const history = await session.messages();
    const { messages } = await emit("context", { messages: history });
    const list = new PromptList(system, messages);
    const prompt = await this.keepPrompt(system);
    const engine = (this.engine = new Engine(kit, list));
    await engine.keep(
      { role: "user", content: text },
      { id: userId, ...(prompt !== undefined && { prompt }) },
    );
    return attempts(kit, engine, async () => {
      const shorter = await emit("context", { messages: await session.messages() });
      engine.list = new PromptList(system, shorter.messages);
    });
  }

  /** If this turn is a replay: goes back to where it began, and returns the system prompt that it was first sent with. */
  private async findStart(prefix: string): Promise<Recorded | undefined> {
    const { session } = this.kit;
    this.start = session.leaf;
    const userId = `${prefix}-u`;
    if (!session.has(userId)) return undefined;
    const before = session.path(userId).findLast(({ id }) => !id.startsWith(`${prefix}-`));
    this.start = before?.id ?? null;
    session.returnTo(this.start);
    const entry = await session.read(userId);
    if (entry.kind !== "message" || entry.prompt === undefined) return undefined;
    const prompt = await session.read(entry.prompt);
    return prompt.kind === "prompt" ? prompt : undefined;
  }

  /** Stores the system prompt once for all turns that use it, so that a resumed run is sent with the prompt that it began with. */
  private async keepPrompt(text: string): Promise<string | undefined> {
    if (text === "") return undefined;
    const { session } = this.kit;
    const id = promptId(text);
    if (!session.has(id)) await session.append({ kind: "prompt", text }, id);
    return id;
  }

  /**
   * O4. Nothing that was completed is dropped. If nothing was, and every attempt has failed, the user's message is dropped too
   * and the conversation stands where it stood. A turn that was stopped keeps what was said.
   */
  private async failed(error: unknown): Promise<void> {
    const { ctx, session, host, emit } = this.kit;
    const isPaused = isRaviError(error, "PAUSED") || isRaviError(error, "SUSPENDED");
    const isStopped = isPaused || ctx.signal.aborted || (await isEnding(() => ctx.check()));
    const isKept = isStopped || this.engine?.hasWork === true;
    try {
      if (!isKept) session.moveTo(this.start);
      if (!isStopped) await session.keepLeaf();
    } catch (problem) {
      // The store itself may have failed. The first error is the one to report.
      host.collect({ source: "session", event: "agent_end", error: problem });
    }
    const status = isStopped ? "aborted" : "failed";
    await emit("agent_end", { status, output: "", error: this.kit.errorJSON(error) });
  }
}

function promptId(text: string): string {
  return `p-${createHash("sha256").update(text, "utf8").digest("hex").slice(0, 32)}`;
}

async function isEnding(check: () => PromiseLike<void> | void): Promise<boolean> {
  try {
    await check();
    return false;
  } catch {
    // It throws the reason for which the turn has ended or will end.
    return true;
  }
}
