import {
  type Agent,
  type ChatMessage,
  checkFields,
  type Estimate,
  type ModelInfo,
  type UserMessage,
} from "@ravi/kernel";
import { addCost, checkInput, least, ownAttachments, userMessage } from "@ravi/kernel/loop";
import type { PriceSource } from "@ravi/resources";
import { blueprintOf, type ClosedLoop, ownLimits, teamOf } from "../agents/made/blueprint.ts";
import { isDefaultUsd, type Limits, limitsFor } from "../limits.ts";
import { checkAgent, checkHost } from "./host/check.ts";
import { type Metering, meteringFor } from "./host/meters.ts";
import { RUN_OPTIONS, type RunOptions } from "./options.ts";

/** The most that a run can spend. A field is null if nothing bounds it; `reason` then says why. */
export interface CostEstimate {
  /** US dollars. */
  readonly usd: number | null;
  /** Input and output tokens together. */
  readonly tokens: number | null;
  /** Model calls; each attempt counts. */
  readonly calls: number | null;
  /** Why a field is null, or why calls will be refused. */
  readonly reason?: string | undefined;
}

/** Tokens. An upper bound for the message that tells a model to answer again. */
const CORRECTION_TOKENS = 1_200;
/** Must be the default of the retry layer, which a test checks. */
const RETRIES = 3;

/**
 * Returns the most that `run` with the same arguments can cost, without calling a model. An agent made by `agent()` without
 * tools, layers, context or history is bounded by what its prompt and answers can grow to. Any other agent is bounded by its
 * limits alone, since tools and layers may call models themselves. What somebody grants while it runs (`onBudget: "ask"`) is
 * not included.
 */
export async function estimate(agent: Agent, input: string, options: RunOptions = {}): Promise<CostEstimate> {
  checkFields("run options", options, RUN_OPTIONS);
  checkHost(options);
  checkAgent("agent", agent);
  checkInput(input);
  const attachments = ownAttachments("run options.attachments", options.attachments);
  const limits = ownLimits(agent);
  const { budget } = limitsFor(options, limits);
  const metering = meteringFor(options.prices);
  const { closed, model } = blueprintOf(agent) ?? {};
  const own =
    closed === undefined || model === undefined || !isBare(options)
      ? UNBOUNDED
      : await worstCase(closed, userMessage(input, attachments), model.info, metering, attemptsOf(options));
  const isStrict = !isDefaultUsd(options, limits);
  const unpriced = await findUnpriced(agent, metering.book);
  return within(own, budget, { unpriced, isStrict });
}

interface Worst {
  readonly usd: number | null;
  readonly tokens: number | null;
  readonly calls: number | null;
}

const UNBOUNDED: Worst = { usd: null, tokens: null, calls: null };

/** The lower of what the agent can spend and what its budget allows, in each dimension. */
export function within(
  own: Worst,
  budget: Limits["budget"],
  { unpriced, isStrict }: { readonly unpriced: string | undefined; readonly isStrict: boolean },
): CostEstimate {
  const calls = least(own.calls, budget.turns);
  const tokens = least(own.tokens, budget.tokens);
  // The default limit in dollars lets models without a known price through, so it bounds nothing for them.
  const usd = unpriced === undefined || isStrict ? least(own.usd, budget.usd) : null;
  const reasons = [
    ...(usd === null && unpriced !== undefined ? [unpriced] : []),
    ...(usd === null && unpriced === undefined ? ["its cost has no limit; set budget.usd"] : []),
    ...(usd !== null && unpriced !== undefined ? [`${unpriced}; calls without a price will be refused`] : []),
    ...(tokens === null ? ["its tokens have no limit; set budget.tokens"] : []),
    ...(calls === null ? ["its model calls have no limit; set budget.turns"] : []),
  ];
  return { usd, tokens, calls, ...(reasons.length > 0 && { reason: reasons.join("; ") }) };
}

/** The worst case: each call repeats the whole conversation before it, and each attempt is charged in full. */
async function worstCase(
  { request, system, calls }: ClosedLoop,
  first: UserMessage,
  info: ModelInfo,
  { book, meter }: Metering,
  attempts: number,
): Promise<Worst> {
  const messages: ChatMessage[] = [
    ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
    first,
  ];
  const begin: Estimate = await meter.estimate(info, { ...request, messages });
  let tokens = 0;
  let usd: number | null = 0;
  for (let call = 0; call < calls; call++) {
    const inputTokens = begin.inputTokens + call * (begin.maxOutputTokens + CORRECTION_TOKENS);
    tokens += attempts * (inputTokens + begin.maxOutputTokens);
    const price = await book.worstPrice(info, inputTokens, begin.maxOutputTokens);
    usd = addCost(usd, "unpriced" in price ? null : attempts * price.usd);
  }
  return { usd, tokens, calls: calls * attempts };
}

/** Says which agent has a model without a known price; undefined if all models and prices are known. */
async function findUnpriced(root: Agent, book: PriceSource): Promise<string | undefined> {
  for (const agent of teamOf(root)) {
    const blueprint = blueprintOf(agent);
    if (blueprint === undefined)
      return `the models of ${agent.id} are not known, because it was not created by agent() or team()`;
    if (blueprint.delegates) return `the models of the agents that ${agent.id} delegates to are not known`;
    const { model, helperModel = model } = blueprint;
    const models = { [agent.id]: model, [`the helpers of ${agent.id}`]: helperModel };
    for (const [who, { info }] of Object.entries(models))
      if ("unpriced" in (await book.worstPrice(info, 1, 1)))
        return `${info.provider}:${info.model} of ${who} has no known price; set it with the option prices`;
  }
  return undefined;
}

/** Whether nothing around the run adds messages to the prompt or calls models itself. */
function isBare({ middleware, compaction, sessionId, history }: RunOptions): boolean {
  return [middleware, compaction, sessionId, history].every((option) => option === undefined);
}

function attemptsOf({ retry }: RunOptions): number {
  return retry === false ? 1 : 1 + (retry?.maxRetries ?? RETRIES);
}
