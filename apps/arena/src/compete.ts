import { type Agent, type Clock, type LLMClient, type RunResult, totalTokens } from "@ravi/kernel";
import { ExecutionTracker, ModelMeter } from "@ravi/resources";
import { Runtime, wallClock } from "@ravi/runtime";
import { SpawnTracker } from "@ravi/supervision";
import type { Limit } from "./limit.ts";

export interface Contest {
  readonly question: string;
  readonly model: LLMClient;
  readonly line: (model: LLMClient) => Readonly<Record<string, Agent>>;
  /** What each of them may use. */
  readonly limit: Limit;
  /** Time that only moves when it is moved, for a model that only pretends to take any. */
  readonly time?: { readonly clock: Clock; pass(until: Promise<unknown>): Promise<void> } | undefined;
  readonly prices?: ConstructorParameters<typeof ModelMeter>[0];
  readonly signal?: AbortSignal | undefined;
}

/** How one strategy did. */
export interface Score {
  readonly strategy: string;
  readonly status: RunResult["status"];
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly tokens: number;
  /** Dollars; null when a price is not known. */
  readonly costUsd: number | null;
  readonly ms: number;
  readonly answer: string;
  readonly error?: string | undefined;
  /** It failed and the model had not answered a single call (no key, no server): the others would fare no better. */
  readonly isUnanswered?: true | undefined;
}

/** One strategy at the question, alone, under a limit. */
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

/** The same model, with its calls counted where they are really made. */
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
