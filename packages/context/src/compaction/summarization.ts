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
import { clip } from "./clip.ts";
import { pinned, type Pins, pinsOf, viewWith } from "./pins.ts";
import { lastGroupStart, validPrompt } from "./prompt.ts";
import { isSummary, summaryMessage, summaryText } from "./summary.ts";
import { SummaryMemory } from "./summary-memory.ts";
import { charsFor, inParts, summaryRequest } from "./summary-request.ts";
import { type CountTokens, type TokenCounter, tokenCounter } from "./token-counter.ts";

export interface SummarizationOptions {
  /** Who writes the summary. It is called only through the context, so it spends from the same ledger. */
  readonly model: LLMClient;
  /** How much of the newest conversation stays as it is: 32,000 tokens, but never more than half of the room for messages. */
  readonly keepRecentTokens?: number | undefined;
  /**
   * What a request may take before older messages are summarised: what always stays (the system prompt, the tools, the first
   * and the newest user message) and twice `keepRecentTokens`, and at most 80 % of the window. One that leaves no room beside
   * what always stays counts beside it: else each turn would pay for a summary.
   */
  readonly triggerTokens?: number | undefined;
  /** How long the summary may get: 2,000 tokens. */
  readonly maxSummaryTokens?: number | undefined;
  /** What the model is told, instead of the built-in words. */
  readonly instructions?: string | undefined;
  readonly countTokens?: CountTokens | undefined;
}

/** Guards against a model that goes on past its limit; no language needs more characters to a token on average. */
const CHARS_PER_TOKEN = 6;

/**
 * Puts a summary in the place of older messages. System messages, the first and the newest user message and the recent
 * groups stay. An earlier summary, remembered or found among the messages, is handed to the model together with only
 * what came after it.
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
    if (typeof options.model?.generate !== "function") {
      const expected = "an LLMClient that writes the summaries";
      throw new InvalidValueError({ field: "Summarization.model", value: options.model, expected });
    }
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
    this.instructions = options.instructions;
    this.counter = tokenCounter(options.countTokens);
  }

  compact(
    messages: readonly ChatMessage[],
    context: CompactionContext = {},
  ): MaybePromise<readonly ChatMessage[]> {
    const prompt = validPrompt(messages);
    const known = this.earlier(prompt, context);
    const view = known?.remembered === true ? viewWith(prompt, known.covered, known.summary) : prompt;
    const pins = pinsOf(prompt);
    const staying = this.staying(prompt, context, pins);
    const trigger = this.triggerFor(context, staying);
    if (!this.counter.exceeds(view, context, trigger)) return view;
    const cut = this.cutOf(prompt, Math.min(this.keepRecentTokens, Math.floor((trigger - staying) / 2)));
    const from = Math.max(known?.covered ?? 0, pins.front);
    const fold = prompt
      .slice(from, cut)
      .filter((message, at) => from + at !== pins.first && !isSummary(message));
    return fold.length === 0 ? view : this.extend({ prompt, context, cut, fold, earlier: known?.summary });
  }

  /** What stands for the beginning of the list already: a summary of this execution, or one among the messages. */
  private earlier(
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
   * What no summary can take the place of: the system prompt, the tools, and the first and the newest user message. It leaves
   * no room for others; if it were taken for room, a summary would not get below the mark, and each turn would pay for one.
   */
  private staying(prompt: readonly ChatMessage[], context: CompactionContext, pins: Pins): number {
    const kept = pinned(pins, { summary: true }).flatMap((at) => prompt[at] ?? []);
    return this.counter.request([...prompt.slice(0, pins.front), ...kept], context);
  }

  private triggerFor(context: CompactionContext, staying: number): number {
    const { triggerTokens } = this;
    if (triggerTokens !== undefined && triggerTokens > staying) return triggerTokens;
    const window = context.contextWindow ?? Number.POSITIVE_INFINITY;
    const room = triggerTokens ?? this.keepRecentTokens * 2;
    return Math.max(Math.min(staying + room, Math.floor(window * 0.8)), 2);
  }

  /** The earliest beginning of a group from which on at most `keep` tokens are left, but not later than the last group. */
  private cutOf(prompt: readonly ChatMessage[], keep: number): number {
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

  private async extend(work: {
    readonly prompt: readonly ChatMessage[];
    readonly context: CompactionContext;
    readonly cut: number;
    readonly fold: readonly ChatMessage[];
    readonly earlier: UserMessage | undefined;
  }): Promise<readonly ChatMessage[]> {
    const { prompt, context, cut } = work;
    if (context.llm === undefined) throw noModelCalls();
    let text = work.earlier === undefined ? undefined : summaryText(work.earlier);
    const maxChars = charsFor(this.model, this.maxSummaryTokens);
    for (const messages of inParts(work.fold, maxChars)) {
      const request = summaryRequest({
        earlier: text,
        messages,
        maxOutputTokens: this.maxSummaryTokens,
        maxChars,
        instructions: this.instructions,
      });
      const response = await context.llm(this.model, request);
      text = clip(textFrom(response, this.model), this.maxSummaryTokens * CHARS_PER_TOKEN);
    }
    const summary = summaryMessage(text ?? "");
    this.memory.set(context, { covered: prompt.slice(0, cut), summary });
    return viewWith(prompt, cut, summary);
  }
}

function textFrom(response: ModelResponse, model: LLMClient): string {
  const { finishReason } = response;
  const text = textOf(response.message).trim();
  const blocked = finishReason === "refused" || finishReason === "filtered";
  if (text !== "" && !blocked) return text;
  throw new ProviderError({
    kind: blocked ? ErrorKind.CONTENT_BLOCKED : ErrorKind.FORMAT_ERROR,
    message: `${model.id} wrote no summary (finish reason ${finishReason}); the history is unchanged. Use another model for Summarization, or Truncation instead`,
    provider: model.info.provider,
    model: model.info.model,
  });
}

function noModelCalls(): InvalidValueError {
  return new InvalidValueError({
    field: "Summarization context.llm",
    value: undefined,
    expected:
      "a way to call the model that is paid for and recorded; compact inside a run (ctx.window), or hand over { llm }",
  });
}
