import type { DelegateTool } from "@ravi/kernel";
import { GuardrailChain } from "../guardrails/chain.ts";
import { inherit } from "../guardrails/load.ts";
import { PromptBook } from "../prompt/book.ts";
import { loadParts, type Parts } from "./parts.ts";
import type { Plan } from "./plan.ts";
import type { Stage } from "./stage.ts";

/** What a child shares with its parent. Created by `spawnChild`. */
export interface Inheritance {
  readonly workshop: Workshop;
  readonly sessionId: string;
  readonly allowed: readonly string[] | undefined;
}

/** What a system prompt depends on. */
export interface PromptWish {
  readonly channel: string | null;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly sessionId: string;
  readonly toolNames: readonly string[];
}

/** A prompt as it was sent. */
interface SentPrompt {
  readonly sessionId: string;
  readonly text: string;
}

/** Prompts kept at most, so that an application with a channel for each user does not fill the memory. */
const MOST_CHANNELS = 64;

/** Holds what turns are made of: tools, guardrails and prompts. A child takes these from its parent. */
export class Workshop {
  /** The prompt of the last turn. */
  lastPrompt = "";
  private readonly plan: Plan;
  private readonly stage: Stage;
  private readonly children: readonly DelegateTool[];
  private readonly inherited: Inheritance | undefined;
  private readonly book: PromptBook;
  /** The last prompt of each channel, the most recent one at the end. */
  private readonly prompts = new Map<string | null, SentPrompt>();
  private parts: Parts | undefined;
  private isStale = true;
  /** The load that is going on; everyone who asks meanwhile waits for the same one. */
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

  /**
   * The current parts; they are loaded first if they never were, or after a `reload`. If loading fails, the previous parts stay
   * in use and the error is collected.
   */
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

  /** Loads everything again. Rejects if something cannot be read; then nothing has changed. */
  refresh(): Promise<Parts> {
    return (this.loading ??= this.load().finally(() => {
      this.loading = undefined;
    }));
  }

  /** Whether extensions that are not loaded yet may want to get streamed text. */
  get mayBring(): boolean {
    return this.isStale && (this.plan.options.extensions ?? []).length > 0;
  }

  /** The names of the tools that are loaded so far. */
  get toolNames(): readonly string[] {
    return this.parts?.merged.tools.map(({ name }) => name) ?? [];
  }

  /** Makes the next turn load everything again. */
  reload(): void {
    if (this.inherited === undefined) this.book.reload();
    this.prompts.clear();
    this.isStale = true;
  }

  /** The system prompt for a turn. A child's is its parent's, byte for byte, so that it hits the provider's prompt cache. */
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

  /** Remembers the prompt that is sent, for children and for `systemPrompt()`. */
  usePrompt(channel: string | null, sent: SentPrompt): void {
    this.lastPrompt = sent.text;
    this.prompts.delete(channel);
    this.prompts.set(channel, sent);
    const [oldest] = this.prompts.keys();
    if (this.prompts.size > MOST_CHANNELS && oldest !== undefined) this.prompts.delete(oldest);
  }

  /** The prompt that was sent for this channel and session. A caller without a channel gets the most recent one. */
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
        // `reload` was called while files were read, so they may be outdated: read again.
        if (!this.isStale) return parts;
      }
    } catch (error) {
      // If older parts exist they stay in use, and loading is not tried again until the next `reload`.
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
