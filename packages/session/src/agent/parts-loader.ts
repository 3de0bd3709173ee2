import type { DelegateTool } from "@ravi/kernel";
import { forgetOldest } from "@ravi/kernel/loop";
import { GuardrailChain } from "../guardrails/chain.ts";
import { inherit } from "../guardrails/load.ts";
import { PromptBuilder } from "../prompt/builder.ts";
import { loadParts, type Parts } from "./parts.ts";
import type { Plan } from "./plan.ts";
import type { SessionEmitter } from "./emitter.ts";

/** What a child shares with its parent. Created by `spawnChild`. */
export interface Inheritance {
  readonly loader: PartsLoader;
  readonly sessionId: string;
  readonly allowed: readonly string[] | undefined;
}

/** What a system prompt depends on. */
export interface PromptRequest {
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
const MAX_CHANNELS = 64;

/** Holds what turns are made of: tools, guardrails and prompts. A child takes these from its parent. */
export class PartsLoader {
  /** The prompt of the last turn. */
  lastPrompt = "";
  private readonly plan: Plan;
  private readonly emitter: SessionEmitter;
  private readonly children: readonly DelegateTool[];
  private readonly inherited: Inheritance | undefined;
  private readonly promptBuilder: PromptBuilder;
  /** The last prompt of each channel, the most recent one at the end. */
  private readonly prompts = new Map<string | null, SentPrompt>();
  private parts: Parts | undefined;
  private isStale = true;
  /** The load that is going on; everyone who asks meanwhile waits for the same one. */
  private loading: Promise<Parts> | undefined;

  constructor(
    plan: Plan,
    emitter: SessionEmitter,
    children: readonly DelegateTool[],
    inherited: Inheritance | undefined,
  ) {
    this.plan = plan;
    this.emitter = emitter;
    this.children = children;
    this.inherited = inherited;
    this.promptBuilder = inherited?.loader.promptBuilder ?? new PromptBuilder(plan.options.prompt, plan.cwd);
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
      this.emitter.host.collect({ source: "session", event: "reload", error });
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
  get mayAddListeners(): boolean {
    return this.isStale && (this.plan.options.extensions ?? []).length > 0;
  }

  /** The names of the tools that are loaded so far. */
  get toolNames(): readonly string[] {
    return this.parts?.merged.tools.map(({ name }) => name) ?? [];
  }

  /** Makes the next turn load everything again. */
  reload(): void {
    if (this.inherited === undefined) this.promptBuilder.reload();
    this.prompts.clear();
    this.isStale = true;
  }

  /** The system prompt for a turn. A child's is its parent's, byte for byte, so that it hits the provider's prompt cache. */
  async prompt({ channel, now, sessionId, toolNames }: PromptRequest): Promise<string> {
    const { inherited, plan } = this;
    const same = inherited?.loader.promptOf(channel, inherited.sessionId);
    if (same !== undefined) return same;
    await this.preparePrompts();
    return this.promptBuilder.build({
      channel,
      date: new Date(now).toISOString().slice(0, 10),
      cwd: plan.cwd,
      sessionId: inherited?.sessionId ?? sessionId,
      toolNames,
    });
  }

  private async preparePrompts(): Promise<void> {
    try {
      await this.promptBuilder.prepare();
    } catch (error) {
      if (!this.promptBuilder.isReady) throw error;
      this.emitter.host.collect({ source: "session", event: "prompt", error });
    }
  }

  /** Remembers the prompt that is sent, for children and for `systemPrompt()`. */
  usePrompt(channel: string | null, sent: SentPrompt): void {
    this.lastPrompt = sent.text;
    this.prompts.delete(channel);
    this.prompts.set(channel, sent);
    forgetOldest(this.prompts, MAX_CHANNELS);
  }

  /** The prompt that was sent for this channel and session. A caller without a channel gets the most recent one. */
  private promptOf(channel: string | null, sessionId: string): string | undefined {
    const sent =
      this.prompts.get(channel) ?? (channel === null ? [...this.prompts.values()].at(-1) : undefined);
    return sent?.sessionId === sessionId ? sent.text : this.inherited?.loader.promptOf(channel, sessionId);
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
    const { plan, emitter, inherited } = this;
    if (inherited === undefined) return loadParts(plan, emitter.host, this.promptBuilder, this.children);
    const { merged, guardrails } = await inherited.loader.loaded();
    const own = inherit(guardrails);
    return {
      merged,
      guardrails: own,
      guard: new GuardrailChain(own, emitter.host, plan.loopDetection),
      ephemeral: [],
    };
  }
}
