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
}

/** Keeps what turns are made with: tools, guardrails, prompts. A child's is made of its parent's. */
export class Workshop {
  /** As it went out last. */
  lastPrompt = "";
  private readonly plan: Plan;
  private readonly stage: Stage;
  private readonly children: readonly DelegateTool[];
  private readonly inherited: Inheritance | undefined;
  private readonly book: PromptBook;
  /** The last prompt of each channel, as it went out. */
  private readonly prompts = new Map<string | null, string>();
  private parts: Parts | undefined;

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

  async loaded(): Promise<Parts> {
    return (this.parts ??= await this.load());
  }

  /** As far as they are known yet. */
  get toolNames(): readonly string[] {
    return this.parts?.merged.tools.map(({ name }) => name) ?? [];
  }

  reload(): void {
    if (this.inherited === undefined) this.book.reload();
    this.parts = undefined;
  }

  /** A child's prompt is its parent's, byte for byte, so that the provider's cache holds. */
  async prompt({ channel, now, sessionId }: PromptWish): Promise<string> {
    const { inherited, plan } = this;
    const same = inherited?.workshop.promptOf(channel);
    if (same !== undefined) return same;
    const { merged } = await this.loaded();
    return this.book.build({
      channel,
      date: new Date(now).toISOString().slice(0, 10),
      cwd: plan.cwd,
      sessionId: inherited?.sessionId ?? sessionId,
      toolNames: merged.tools.map(({ name }) => name),
    });
  }

  usePrompt(channel: string | null, text: string): void {
    this.lastPrompt = text;
    this.prompts.set(channel, text);
  }

  private promptOf(channel: string | null): string | undefined {
    return this.prompts.get(channel) ?? this.inherited?.workshop.promptOf(channel);
  }

  private async load(): Promise<Parts> {
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
