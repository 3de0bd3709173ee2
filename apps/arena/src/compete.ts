import { type Agent, type Clock, type LLMClient, type RunResult, totalTokens } from "@ravi/kernel";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime, wallClock } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import type { Limit } from "./limit.ts";

/** What is the same for every strategy. */
export interface Contest {
  readonly question: string;
  readonly model: LLMClient;
  readonly line: (model: LLMClient) => Readonly<Record<string, Agent>>;
  /** The limit of each strategy. */
  readonly limit: Limit;
  /** A virtual clock for the stand-in model, whose delays are simulated. `pass` advances it until the promise settles. */
  readonly time?: { readonly clock: Clock; pass(until: Promise<unknown>): Promise<void> } | undefined;
  readonly prices?: ConstructorParameters<typeof ModelMeter>[0];
  readonly signal?: AbortSignal | undefined;
}

/** The result of one strategy. */
export interface Score {
  readonly strategy: string;
  readonly status: RunResult["status"];
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly tokens: number;
  /** Dollars; null if the price is not known. */
  readonly costUsd: number | null;
  readonly ms: number;
  readonly answer: string;
  readonly error?: string | undefined;
  /** The strategy failed and the model answered none of its calls (no key, no server), so the other strategies would fail too. */
  readonly isUnanswered?: true | undefined;
}

/** Runs one strategy on the question, alone and under its limit. */
export async function compete(contest: Contest, strategy: string): Promise<Score> {
  const { question, limit, signal, time } = contest;
  const clock = time?.clock ?? wallClock;
  const made = { calls: 0, answers: 0 };
  const model = counting(contest.model, made);
  const agent = contest.line(model)[strategy];
  if (agent === undefined) throw new TypeError(`no strategy ${strategy}`);
  await using runtime = new Runtime({
    clock,
    headcount: (root) => new SpawnTracker(root.spawnBudget, { rootId: root.rootId }),
    ledger: (root) => new ExecutionTracker(root.executionBudget, { scope: root.rootId }),
    meter: new ModelMeter(contest.prices),
  });
  const start = clock.now();
  const handle = runtime.run(agent, question, {
    ...(signal !== undefined && { signal }),
    executionBudget: limit,
  });
  if (time !== undefined) await time.pass(handle.result);
  const { status, usage, cost, output, error } = await handle.result;
  return {
    strategy,
    status,
    calls: made.calls,
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    tokens: totalTokens(usage),
    costUsd: cost,
    ms: clock.now() - start,
    answer: output,
    ...(error !== undefined && { error: error.message }),
    ...(status === "failed" && made.calls > 0 && made.answers === 0 && { isUnanswered: true }),
  };
}

/** The same model, which counts the calls that really reach it and its answers. */
function counting(model: LLMClient, made: { calls: number; answers: number }): LLMClient {
  const { id, info } = model;
  return {
    id,
    info,
    async generate(request, options) {
      made.calls++;
      const response = await model.generate(request, options);
      made.answers++;
      return response;
    },
  };
}
