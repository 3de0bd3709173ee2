import type { DelegateTool } from "@ravi/kernel";
import { GuardrailChain } from "../guardrails/chain.ts";
import { inherit } from "../guardrails/load.ts";
import { PromptBook } from "../prompt/book.ts";
import { loadParts, type Parts } from "./parts.ts";
import type { Plan } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** What a child has of its parent. Made by `spawnChild`. */
export interface Inheritance {
  readonly workshop: Workshop;
  readonly sessionId: string;
  readonly allowed: readonly string[] | undefined;
}

export interface PromptWish {
  readonly channel: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly sessionId: string;
  readonly toolNames: readonly string[];
}

/** A prompt as it went out. */
interface SentPrompt {
  readonly sessionId: string;
  readonly text: string;
}

/** Whoever names a channel for each of its users does not fill the memory. */
const MOST_CHANNELS = 64;

/** Keeps what turns are made with: tools, guardrails, prompts. A child's is made of its parent's. */
export class Workshop {
  /** As it went out last. */
  lastPrompt = "";
  private readonly plan: Plan;
  private readonly stage: Stage;
  private readonly children: readonly DelegateTool[];
  private readonly inherited: Inheritance | undefined;
  private readonly book: PromptBook;
  /** The last of each channel, the newest last. */
  private readonly prompts = new Map<string | null, SentPrompt>();
  private parts: Parts | undefined;
  private isStale = true;
  /** Whoever asks while it loads waits for the same. */
  private loading: Promise<Parts> | undefined;

  constructor(
    plan: Plan,
    stage: Stage,
    children: readonly DelegateTool[],
    inherited: Inheritance | undefined,
  ) {
    this.plan = plan;
    this.stage = stage;
    this.children = children;
    this.inherited = inherited;
    this.book = inherited?.workshop.book ?? new PromptBook(plan.options.prompt, plan.cwd);
  }

  /** What is there; after a `reload`, and while one is under way, what is there now. Where that cannot be read, the parts that worked go on. */
  async loaded(): Promise<Parts> {
    if (this.parts !== undefined && !this.isStale && this.loading === undefined) return this.parts;
    try {
      return await this.refresh();
    } catch (error) {
      if (this.parts === undefined) throw error;
      this.stage.host.collect({ source: "session", event: "reload", error });
      return this.parts;
    }
  }

  /** Reads everything anew, or says what cannot be read; then nothing has changed. */
  refresh(): Promise<Parts> {
    return (this.loading ??= this.load().finally(() => {
      this.loading = undefined;
    }));
  }

  /** Extensions that are not loaded yet may want to hear every word. */
  get mayBring(): boolean {
    return this.isStale && (this.plan.options.extensions ?? []).length > 0;
  }

  /** As far as they are known yet. */
  get toolNames(): readonly string[] {
    return this.parts?.merged.tools.map(({ name }) => name) ?? [];
  }

  /** The next turn reads everything anew. */
  reload(): void {
    if (this.inherited === undefined) this.book.reload();
    this.prompts.clear();
    this.isStale = true;
  }

  /** A child's prompt is its parent's, byte for byte, so that the provider's cache holds. */
  async prompt({ channel, now, sessionId, toolNames }: PromptWish): Promise<string> {
    const { inherited, plan } = this;
    const same = inherited?.workshop.promptOf(channel, inherited.sessionId);
    if (same !== undefined) return same;
    await this.prepareBook();
    return this.book.build({
      channel,
      date: new Date(now).toISOString().slice(0, 10),
      cwd: plan.cwd,
      sessionId: inherited?.sessionId ?? sessionId,
      toolNames,
    });
  }

  private async prepareBook(): Promise<void> {
    try {
      await this.book.prepare();
    } catch (error) {
      if (!this.book.isReady) throw error;
      this.stage.host.collect({ source: "session", event: "prompt", error });
    }
  }

  usePrompt(channel: string | null, sent: SentPrompt): void {
    this.lastPrompt = sent.text;
    this.prompts.delete(channel);
    this.prompts.set(channel, sent);
    const [oldest] = this.prompts.keys();
    if (this.prompts.size > MOST_CHANNELS && oldest !== undefined) this.prompts.delete(oldest);
  }

  /** Whoever names no channel gets the newest. */
  private promptOf(channel: string | null, sessionId: string): string | undefined {
    const sent =
      this.prompts.get(channel) ?? (channel === null ? [...this.prompts.values()].at(-1) : undefined);
    return sent?.sessionId === sessionId ? sent.text : this.inherited?.workshop.promptOf(channel, sessionId);
  }

  private async load(): Promise<Parts> {
    try {
      for (;;) {
        this.isStale = false;
        const parts = (this.parts = await this.make());
        // What was read before another `reload` may be old.
        if (!this.isStale) return parts;
      }
    } catch (error) {
      // The next turn tries again only where there is nothing to go on with.
      this.isStale ||= this.parts === undefined;
      throw error;
    }
  }

  private async make(): Promise<Parts> {
    const { plan, stage, inherited } = this;
    if (inherited === undefined) return loadParts(plan, stage.host, this.book, this.children);
    const { merged, guardrails } = await inherited.workshop.loaded();
    const own = inherit(guardrails);
    return {
      merged,
      guardrails: own,
      guard: new GuardrailChain(own, stage.host, plan.loopDetection),
      ephemeral: [],
    };
  }
}
