import {
  type ChatMessage,
  checkFields,
  checkInteger,
  type CompactionContext,
  type CompactionStrategy,
  ErrorKind,
  InvalidValueError,
  type LLMClient,
  type MaybePromise,
  type ModelResponse,
  ProviderError,
  textOf,
  type UserMessage,
} from "@ravi/kernel";
import { checkModel, checkText } from "@ravi/kernel/loop";
import { clip } from "./summary/clip.ts";
import { pinned, type Pins, pinsOf, withSummary } from "./summary/pins.ts";
import { lastGroupStart, validPrompt } from "./prompt.ts";
import { isSummary, summaryMessage, summaryText } from "./summary.ts";
import { SummaryMemory } from "./summary/summary-memory.ts";
import { maxRequestTokens, splitTranscript, summaryRequest } from "./summary/summary-request.ts";
import { type CountTokens, type TokenCounter, tokenCounter } from "./token-counter.ts";

export interface SummarizationOptions {
  /** The model that writes the summaries. It is called only through the context, so its calls are paid from the same budget. */
  readonly model: LLMClient;
  /**
   * How many tokens of the newest conversation are kept as they are. Default: 32,000. Never more than half of the room for
   * messages.
   */
  readonly keepRecentTokens?: number | undefined;
  /**
   * A request that takes more tokens than this has its older messages summarised. Default: what is always kept (system prompt,
   * tools, first and newest user message) plus twice `keepRecentTokens`, but at most 80 % of the context window. If your value is
   * not larger than what is always kept, it is added to it; otherwise every turn would pay for a summary.
   */
  readonly triggerTokens?: number | undefined;
  /**
   * The maximum length of the summary, in tokens. Default: 2,000. In a small context window never more than a quarter of the room for
   * messages: otherwise the summary would fill it, and every turn would pay for another one.
   */
  readonly maxSummaryTokens?: number | undefined;
  /** Replaces the built-in instructions to the model. */
  readonly instructions?: string | undefined;
  /** Default: `estimateTokens`. */
  readonly countTokens?: CountTokens | undefined;
}

/** A summary that is shorter than this says too little. */
const LEAST_SUMMARY_TOKENS = 100;

/** Limits the summary of a model that ignores its token limit. No language has more characters per token on average. */
const CHARS_PER_TOKEN = 6;

/**
 * Replaces older messages with a summary. System messages, the first and the newest user message and the recent groups are kept.
 * If there is an earlier summary, remembered or among the messages, the model gets it together with only the messages that came
 * after it.
 */
export class Summarization implements CompactionStrategy {
  readonly name = "Summarization";
  readonly model: LLMClient;
  readonly keepRecentTokens: number;
  readonly triggerTokens: number | undefined;
  readonly maxSummaryTokens: number;
  private readonly instructions: string | undefined;
  private readonly counter: TokenCounter;
  private readonly memory = new SummaryMemory();

  constructor(options: SummarizationOptions) {
    checkFields("Summarization", options, [
      "model",
      "keepRecentTokens",
      "triggerTokens",
      "maxSummaryTokens",
      "instructions",
      "countTokens",
    ]);
    checkModel("Summarization.model", options.model);
    this.model = options.model;
    this.keepRecentTokens = checkInteger(
      "Summarization.keepRecentTokens",
      options.keepRecentTokens ?? 32_000,
      1,
    );
    this.triggerTokens =
      options.triggerTokens === undefined
        ? undefined
        : checkInteger("Summarization.triggerTokens", options.triggerTokens, 2);
    this.maxSummaryTokens = checkInteger(
      "Summarization.maxSummaryTokens",
      options.maxSummaryTokens ?? 2_000,
      1,
    );
    const { instructions } = options;
    if (instructions !== undefined) checkText("Summarization.instructions", instructions);
    this.instructions = instructions;
    this.counter = tokenCounter(options.countTokens);
  }

  compact(
    messages: readonly ChatMessage[],
    context: CompactionContext = {},
  ): MaybePromise<readonly ChatMessage[]> {
    const prompt = validPrompt(messages);
    const known = this.earlierSummary(prompt, context);
    const view = known?.remembered === true ? withSummary(prompt, known.covered, known.summary) : prompt;
    const pins = pinsOf(prompt);
    const keptTokens = this.keptTokens(prompt, context, pins);
    const trigger = this.triggerFor(context, keptTokens);
    if (!this.counter.exceeds(view, context, trigger)) return view;
    const room = trigger - keptTokens;
    const cut = this.cutIndex(prompt, Math.min(this.keepRecentTokens, Math.floor(room / 2)));
    const from = Math.max(known?.covered ?? 0, pins.front);
    const toSummarize = prompt
      .slice(from, cut)
      .filter((message, at) => from + at !== pins.first && !isSummary(message));
    if (toSummarize.length === 0) return view;
    const maxOutputTokens = this.summaryTokens(context, room);
    return this.summarize({
      prompt,
      context,
      cut,
      toSummarize,
      earlierSummary: known?.summary,
      maxOutputTokens,
    });
  }

  /** The summary that already covers the beginning of the list: one made in this execution, or one among the messages. */
  private earlierSummary(
    prompt: readonly ChatMessage[],
    context: CompactionContext,
  ): { readonly covered: number; readonly summary: UserMessage; readonly remembered: boolean } | undefined {
    const found = this.memory.get(context, prompt);
    if (found !== undefined)
      return { covered: found.covered.length, summary: found.summary, remembered: true };
    const at = pinsOf(prompt).summary;
    const summary = at === undefined ? undefined : prompt[at];
    if (at === undefined || summary?.role !== "user") return undefined;
    return { covered: at + 1, summary, remembered: false };
  }

  /**
   * The tokens of what a summary cannot replace: the system prompt, the tools, and the first and the newest user message. If they
   * counted as room, a summary could never get below the trigger, and every turn would pay for one.
   */
  private keptTokens(prompt: readonly ChatMessage[], context: CompactionContext, pins: Pins): number {
    const kept = pinned(pins, { summary: true }).flatMap((at) => prompt[at] ?? []);
    return this.counter.request([...prompt.slice(0, pins.front), ...kept], context);
  }

  private triggerFor(context: CompactionContext, keptTokens: number): number {
    const { triggerTokens } = this;
    if (triggerTokens !== undefined && triggerTokens > keptTokens) return triggerTokens;
    const window = context.contextWindow ?? Number.POSITIVE_INFINITY;
    const room = triggerTokens ?? this.keepRecentTokens * 2;
    return Math.max(Math.min(keptTokens + room, Math.floor(window * 0.8)), 2);
  }

  private summaryTokens({ contextWindow }: CompactionContext, room: number): number {
    const { maxSummaryTokens } = this;
    if (contextWindow === undefined) return maxSummaryTokens;
    return Math.min(maxSummaryTokens, Math.max(LEAST_SUMMARY_TOKENS, Math.floor(room / 4)));
  }

  /** The start of the earliest group from which on at most `keep` tokens are left; at the latest the last group. */
  private cutIndex(prompt: readonly ChatMessage[], keep: number): number {
    let cut = lastGroupStart(prompt);
    let tokens = 0;
    for (let at = prompt.length - 1; at >= 0; at--) {
      const message = prompt[at];
      if (message === undefined) break;
      tokens += this.counter.message(message);
      if (tokens > keep) break;
      if (message.role !== "tool") cut = Math.min(cut, at);
    }
    return cut;
  }

  private async summarize(work: {
    readonly prompt: readonly ChatMessage[];
    readonly context: CompactionContext;
    readonly cut: number;
    readonly toSummarize: readonly ChatMessage[];
    readonly earlierSummary: UserMessage | undefined;
    readonly maxOutputTokens: number;
  }): Promise<readonly ChatMessage[]> {
    const { prompt, context, cut, maxOutputTokens } = work;
    if (context.llm === undefined) throw missingLlm();
    let text = work.earlierSummary === undefined ? undefined : summaryText(work.earlierSummary);
    const maxTokens = maxRequestTokens(this.model, this.maxSummaryTokens);
    for (const messages of splitTranscript(work.toSummarize, maxTokens)) {
      const request = summaryRequest({
        earlier: text,
        messages,
        maxOutputTokens,
        maxTokens,
        instructions: this.instructions,
      });
      const response = await context.llm(this.model, request);
      text = clip(summaryFrom(response, this.model), maxOutputTokens * CHARS_PER_TOKEN);
    }
    const summary = summaryMessage(text ?? "");
    this.memory.set(context, { covered: prompt.slice(0, cut), summary });
    return withSummary(prompt, cut, summary);
  }
}

function summaryFrom(response: ModelResponse, model: LLMClient): string {
  const { finishReason } = response;
  const text = textOf(response.message).trim();
  const blocked = finishReason === "refused" || finishReason === "filtered";
  if (text !== "" && !blocked) return text;
  throw new ProviderError({
    kind: blocked ? ErrorKind.CONTENT_BLOCKED : ErrorKind.FORMAT_ERROR,
    message: `${model.id} wrote no summary (finish reason ${finishReason}); the history is unchanged. Use another model for Summarization, or use Truncation instead`,
    provider: model.info.provider,
    model: model.info.model,
  });
}

function missingLlm(): InvalidValueError {
  return new InvalidValueError({
    field: "Summarization context.llm",
    value: undefined,
    expected:
      "a function that calls the model, so that the call is paid for and recorded; compact inside a run (ctx.window), or pass { llm }",
  });
}
