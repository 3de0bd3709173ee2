import {
  checkFields,
  type Clock,
  deepFreeze,
  HookEvent,
  type HookPayloads,
  isPromiseLike,
  type Logger,
  type Meter,
  type Price,
} from "@ravi/kernel";
import { checkFunction, checkPort, checkPorts } from "@ravi/kernel/loop";
import { checkSource } from "./common/checks.ts";
import { Attachments } from "./common/attachments.ts";
import { type CostTally, Tally } from "./tally.ts";
import { type SetTimer, timersOf } from "./common/timers.ts";
import type { HookSource } from "./types.ts";

/** What the counted model calls used and cost. */
export interface CostReport {
  readonly total: CostTally;
  /** By the agent's name, so that a thousand hired researchers are one line. */
  readonly agents: readonly (CostTally & { readonly agentName: string })[];
  readonly models: readonly (CostTally & { readonly provider: string; readonly model: string })[];
}

export interface CostTrackerOptions {
  /** Prices a call whose event has no price. Without a meter such a call stays unpriced. */
  readonly meter?: Pick<Meter, "price"> | undefined;
  /** Called with the sums so far at the end of each run. */
  readonly onReport?: ((report: CostReport, run: HookPayloads["run_end"]) => unknown) | undefined;
  /** Gets one line at the end of each run. */
  readonly logger?: Logger | undefined;
  /** Provides the timers that limit the wait for a price. Default: the platform's. */
  readonly clock?: Clock | undefined;
}

/**
 * The longest wait for a price, in milliseconds: shorter than a listener's default timeout, so that the report is not cut off.
 */
const LOOKUP_MS = 4_000;

/** Sums what model calls used and cost, per agent, per model and in total, over all hooks that it is attached to. */
export class CostTracker {
  private readonly options: CostTrackerOptions;
  private readonly attachments = new Attachments();
  private readonly lookups = new Set<Promise<void>>();
  private readonly setTimer: SetTimer;
  private total = new Tally();
  private agents = new Map<string, Tally>();
  private models = new ModelTallies();

  /** Throws an `InvalidValueError` if an option is wrong. */
  constructor(options: CostTrackerOptions = {}) {
    checkFields("CostTracker options", options, ["meter", "onReport", "logger", "clock"]);
    checkPorts("CostTracker options", { logger: options.logger, clock: options.clock });
    if (options.meter !== undefined) checkPort("CostTracker options.meter", options.meter, ["price"]);
    checkFunction("CostTracker options.onReport", options.onReport);
    this.options = options;
    this.setTimer = timersOf(options.clock);
  }

  /** Starts to count. Returns a function that stops it; the sums stay. Attaching again to the same hooks replaces the first. */
  attachTo(hooks: HookSource): () => void {
    checkSource(hooks);
    // The functions' names appear in problem reports.
    const costTracker = (call: HookPayloads["llm_end"]): unknown =>
      this.attachments.isRepeated(hooks, call) ? undefined : this.count(call);
    const costReport = (run: HookPayloads["run_end"]): unknown =>
      this.attachments.isRepeated(hooks, run) ? undefined : this.runEnded(run);
    return this.attachments.attach(hooks, () => [
      hooks.on(HookEvent.LLM_END, costTracker),
      hooks.on(HookEvent.RUN_END, costReport),
    ]);
  }

  /** Stops counting everywhere; the sums stay. */
  detach(): void {
    this.attachments.detachAll();
  }

  /** The sums so far, as a frozen object. */
  report(): CostReport {
    return deepFreeze({
      total: this.total.read(),
      agents: Array.from(this.agents, ([agentName, tally]) => ({ agentName, ...tally.read() })),
      models: this.models.lines.map(({ provider, model, tally }) => ({ provider, model, ...tally.read() })),
    });
  }

  /** Sets all sums to zero. A price that arrives later for an earlier call is not counted. */
  reset(): void {
    this.total = new Tally();
    this.agents = new Map();
    this.models = new ModelTallies();
    this.lookups.clear();
  }

  private count(call: HookPayloads["llm_end"]): unknown {
    const tallies = this.talliesOf(call);
    if (call.replayed === true) {
      for (const tally of tallies) tally.addReplayed();
      return undefined;
    }
    for (const tally of tallies) tally.add(call);
    if (isAmount(call.costUsd)) {
      charge(tallies, call.costUsd);
      return undefined;
    }
    const { provider, model, usage } = call;
    const price = this.options.meter?.price({ provider, model }, usage);
    if (!isPromiseLike(price)) {
      charge(tallies, dollars(price));
      return undefined;
    }
    const lookup = Promise.resolve(price).then((found) => charge(tallies, dollars(found)));
    this.await(lookup);
    return lookup;
  }

  private talliesOf({ agentName, provider, model }: HookPayloads["llm_end"]): readonly Tally[] {
    let agent = this.agents.get(agentName);
    if (agent === undefined) this.agents.set(agentName, (agent = new Tally()));
    return [this.total, agent, this.models.of(provider, model)];
  }

  private await(lookup: Promise<void>): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.setTimer(resolve, LOOKUP_MS);
    // A failed lookup is reported by the hooks that called us. Its call stays unpriced, like one whose price never arrives.
    lookup.then(resolve, resolve);
    this.lookups.add(promise);
    void promise.then(() => {
      timer.cancel();
      this.lookups.delete(promise);
    });
  }

  /** Waits, for a limited time, for prices that are still being looked up: without them the sum would be incomplete. */
  private runEnded(run: HookPayloads["run_end"]): unknown {
    if (run.replayed === true) return undefined;
    if (this.lookups.size === 0) return this.publish(run);
    return Promise.all(this.lookups).then(() => this.publish(run));
  }

  private publish(run: HookPayloads["run_end"]): unknown {
    const { logger, onReport } = this.options;
    if (logger === undefined && onReport === undefined) return undefined;
    const report = this.report();
    const { usage, ...total } = report.total;
    logger?.info(costLine(run.agentName, report.total), { runId: run.runId, ...total, ...usage });
    return onReport?.(report, run);
  }
}

/** Two levels of maps: a joined key could be ambiguous, and a JSON key takes 100 ns a call. */
class ModelTallies {
  private readonly providers = new Map<string, Map<string, Tally>>();
  /** In the order of their first call. */
  readonly lines: { readonly provider: string; readonly model: string; readonly tally: Tally }[] = [];

  of(provider: string, model: string): Tally {
    return this.providers.get(provider)?.get(model) ?? this.add(provider, model);
  }

  private add(provider: string, model: string): Tally {
    const tally = new Tally();
    const models = this.providers.get(provider) ?? new Map<string, Tally>();
    this.providers.set(provider, models.set(model, tally));
    this.lines.push({ provider, model, tally });
    return tally;
  }
}

function charge(tallies: readonly Tally[], usd: number): void {
  if (isAmount(usd)) for (const tally of tallies) tally.price(usd);
}

/** NaN if there is no price. */
function dollars(price: Price | undefined): number {
  return price !== undefined && "usd" in price ? price.usd : Number.NaN;
}

/** 0 is an amount; NaN, null and infinity are not. */
function isAmount(value: number | null): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

function costLine(agentName: string, { calls, pricedUsd, unpricedCalls, estimated }: CostTally): string {
  const known = `${estimated ? "about " : ""}$${pricedUsd.toFixed(6)}`;
  const unknown = unpricedCalls === 0 ? "" : `, and the price of ${callCount(unpricedCalls)} is unknown`;
  return `${agentName} ended; cost of ${callCount(calls)} so far: ${known}${unknown}`;
}

function callCount(calls: number): string {
  return calls === 1 ? "1 model call" : `${calls} model calls`;
}
