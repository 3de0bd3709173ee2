import {
  type AbortSignalLike,
  addUsage,
  cancellationOf,
  classifyError,
  type Estimate,
  HookEvent,
  isRaviError,
  type JsonObject,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  NO_USAGE,
  type Price,
  type Reservation,
  type Settlement,
  type Spend,
  totalTokens,
  type Usage,
} from "@ravi/kernel";
import { readStream } from "@ravi/kernel/loop";
import { SPEND } from "../engine/recording.ts";
import { charge } from "../tree/accounts.ts";
import type { Execution } from "./execution.ts";
import { roughEstimate } from "./rough-estimate.ts";

/** What the attempts at one effect have cost together; written down with its outcome. */
export class Bill {
  tokens = 0;
  /** Whole nano-dollars. */
  private nano = 0;
  turns = 0;
  usage: Usage = NO_USAGE;
  unpriced = false;
  estimated = false;

  /** What the newest attempt cost. */
  lastCost = 0;

  add(spend: Partial<Spend>): void {
    this.lastCost = spend.cost ?? 0;
    this.tokens += spend.tokens ?? 0;
    this.nano += Math.round((spend.cost ?? 0) * 1e9);
    this.turns += spend.turns ?? 0;
  }

  get cost(): number {
    return this.nano / 1e9;
  }

  /** Null where a price is missing: not 0. */
  get costUsd(): number | null {
    return this.unpriced ? null : this.cost;
  }

  toJSON(): JsonObject {
    return {
      tokens: this.tokens,
      cost: this.cost,
      turns: this.turns,
      usage: this.usage,
      priced: !this.unpriced,
    };
  }
}

export interface AttemptOptions {
  readonly model: LLMClient;
  readonly request: ModelRequest;
  readonly signal: AbortSignalLike;
  readonly idempotencyKey: string;
  readonly wrapUp: boolean;
  readonly bill: Bill;
  /** Made inside of an effect (by a judge, by a tool): what it costs is written down by itself, before the effect ends. */
  readonly within?: { readonly key: string; readonly attempt: number } | undefined;
  /** Gets what is streamed; without it the answer comes in one piece. */
  readonly sink: ((event: Exclude<ModelEvent, { type: "finish" }>) => void) | undefined;
}

/** One try at a model call: a place in the limiter's line, money set aside, the call, and the money settled. */
export async function attempt(exec: Execution, options: AttemptOptions): Promise<ModelResponse> {
  const { model, request, signal, bill } = options;
  const { limiter } = exec.tree.ports;
  // Whoever goes on after the end (a tool that was left behind, say) pays for nothing more.
  const stopped = exec.tree.suspension ?? exec.token.error;
  if (stopped !== undefined) throw stopped;
  if (signal.aborted) throw cancellationOf(signal);
  const before = bill.tokens;
  const { ledger } = exec;
  if (ledger === undefined && limiter === undefined) {
    const response = await send(options);
    await settle(exec, options, undefined, undefined, response.usage);
    await noteNested(exec, options, response.usage);
    return response;
  }
  const estimate = await estimateOf(exec, model, request);
  const tokens = estimate.inputTokens + estimate.maxOutputTokens;
  const permit = await limiter?.acquire({ priority: exec.supervision.priority, tokens, signal });
  try {
    const what = `${model.info.provider}:${model.info.model}`;
    const reservation = await ledger?.reserve(wanted(estimate), { wrapUp: options.wrapUp, what });
    let response: ModelResponse;
    try {
      response = await send(reservation === undefined ? options : bounded(options, estimate));
    } catch (error) {
      await settleFailure(exec, options, reservation, estimate, error);
      throw error;
    }
    await settle(exec, options, reservation, estimate, response.usage);
    await noteNested(exec, options, response.usage);
    return response;
  } finally {
    permit?.release({ tokens: bill.tokens - before });
  }
}

export async function estimateOf(
  exec: Execution,
  model: LLMClient,
  request: ModelRequest,
): Promise<Estimate> {
  const { meter } = exec.tree.ports;
  return meter === undefined ? roughEstimate(model.info, request) : meter.estimate(model.info, request);
}

/** A crash before the effect's end must not lose what was paid inside of it. */
async function noteNested(
  exec: Execution,
  { within, bill }: AttemptOptions,
  usage: Usage | undefined,
): Promise<void> {
  const { journal, ports } = exec.tree;
  if (within === undefined || journal === undefined) return;
  const tokens = usage === undefined ? bill.tokens : totalTokens(usage);
  const spend = { tokens, cost: bill.lastCost, turns: 1, usage: usage ?? NO_USAGE, priced: !bill.unpriced };
  const key = `${SPEND}${within.key}#${++exec.nestedCalls}`;
  const at = ports.clock.now();
  await journal.append([
    { exec: exec.execId, key, attempt: within.attempt, phase: "note", at, body: { of: within.key, spend } },
  ]);
}

/** What was set aside for the answer is what the provider may write: otherwise the limit would not bind it. */
function bounded(options: AttemptOptions, { maxOutputTokens }: Estimate): AttemptOptions {
  if (options.request.maxOutputTokens !== undefined) return options;
  return { ...options, request: { ...options.request, maxOutputTokens } };
}

async function send({
  model,
  request,
  signal,
  idempotencyKey,
  sink,
}: AttemptOptions): Promise<ModelResponse> {
  if (sink === undefined || model.stream === undefined)
    return model.generate(request, { signal, idempotencyKey });
  return readStream(model.stream(request, { signal, idempotencyKey }), sink);
}

/** What is set aside for one attempt. Without a known price it says no cost, and the ledger decides. */
function wanted({ inputTokens, maxOutputTokens, price }: Estimate): Partial<Spend> {
  const spend = { tokens: inputTokens + maxOutputTokens, turns: 1 };
  return "unpriced" in price ? spend : { ...spend, cost: price.usd };
}

async function settle(
  exec: Execution,
  { model, bill }: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
  usage: Usage | undefined,
): Promise<void> {
  const { meter } = exec.tree.ports;
  if (usage === undefined) return settleWhole(exec, bill, reservation, estimate);
  const price: Price =
    meter === undefined ? { unpriced: true } : await meter.price(model.info, usage, estimate);
  const cost = "unpriced" in price ? undefined : price.usd;
  const spend = { tokens: totalTokens(usage), cost: cost ?? 0, turns: 1 };
  bill.add(spend);
  bill.usage = addUsage(bill.usage, usage);
  bill.unpriced ||= cost === undefined;
  charge(exec.account, usage, cost ?? null);
  if (reservation !== undefined) report(exec, await reservation.settle(spend));
}

/** The provider did not say what it used, so all that was set aside counts as spent. */
async function settleWhole(
  exec: Execution,
  bill: Bill,
  reservation: Reservation | undefined,
  estimate: Estimate | undefined,
): Promise<void> {
  bill.estimated = true;
  const price = estimate?.price;
  const cost = price === undefined || "unpriced" in price ? undefined : price.usd;
  const usage: Usage =
    estimate === undefined
      ? NO_USAGE
      : { inputTokens: estimate.inputTokens, outputTokens: estimate.maxOutputTokens };
  bill.add({ tokens: totalTokens(usage), cost: cost ?? 0, turns: 1 });
  bill.usage = addUsage(bill.usage, usage);
  bill.unpriced ||= cost === undefined;
  charge(exec.account, usage, cost ?? null);
  if (reservation !== undefined) report(exec, await reservation.settle({ estimated: true }));
}

/**
 * A call that failed. An answer with an error status costs nothing but the turn; where the connection broke or was cut, the
 * provider may have worked and charged, so what was set aside counts as spent.
 */
async function settleFailure(
  exec: Execution,
  { bill }: AttemptOptions,
  reservation: Reservation | undefined,
  estimate: Estimate,
  error: unknown,
): Promise<void> {
  const { status, retryAfterMs, kind } = classifyError(error);
  if (kind === "RATE_LIMIT" && retryAfterMs !== undefined) exec.tree.ports.limiter?.slowDown(retryAfterMs);
  const refused = status !== undefined && status >= 400;
  if (!refused && !isProgramError(error)) return settleWhole(exec, bill, reservation, estimate);
  bill.add({ turns: 1 });
  if (reservation !== undefined) report(exec, await reservation.settle({ tokens: 0, cost: 0, turns: 1 }));
}

/** Nothing was sent: a mistake in the program, or a refusal of our own. */
function isProgramError(error: unknown): boolean {
  return (
    error instanceof TypeError ||
    isRaviError(error, "INVALID_VALUE") ||
    isRaviError(error, "BUDGET_EXHAUSTED")
  );
}

function report(exec: Execution, { warnings }: Settlement): void {
  for (const warning of warnings) {
    exec.emit({ type: "budgetWarning", ...warning });
    if (exec.hooks.has(HookEvent.BUDGET_WARNING)) {
      void exec.hooks.dispatch(HookEvent.BUDGET_WARNING, { ...exec.hookBase(false), ...warning });
    }
  }
}
