import {
  type Agent,
  type AnswerOf,
  checkFields,
  HistoryRetention,
  InvalidValueError,
  type RootHandle,
} from "@ravi/kernel";
import { checkInput, isAgent } from "@ravi/kernel/loop";
import { ownLimits } from "../agents/made/blueprint.ts";
import { isDefaultUsd, limitsFor } from "../limits.ts";
import { toExecutionBudget, toSpawnBudget } from "../limits/kernel-names.ts";
import { checkAgent, checkHost, checkRunId } from "./host/check.ts";
import { checkOnRecord } from "./host/journals.ts";
import { factsFor } from "./host/ledger.ts";
import type { SdkHandle } from "./handle.ts";
import { launch } from "./launch.ts";
import { RESUME_OPTIONS, type ResumeOptionsFor, RUN_OPTIONS, type RunOptions } from "./options.ts";
import type { SdkResult } from "./result.ts";

// The functions below are generic in `A` besides `T`, so that a union of agents and a generic agent keep their answers. Overloads would do
// as well, but TypeScript reports a wrong option once for each of them.

/**
 * Runs an agent until it ends, and returns the result whatever the end was: read `result.status`, or call `result.unwrap()`.
 * Rejects only if the run could not be started, if its journal fails, or if another process has taken the run over.
 */
export async function run<T = unknown, A extends Agent<T> = Agent<T>>(
  agent: A,
  input: string,
  options: RunOptions = {},
): Promise<SdkResult<AnswerOf<A>>> {
  return start<T, A>(agent, input, options).result;
}

/** Starts an agent and returns its handle at once, without waiting for the result. Throws if an option is wrong. */
export function start<T = unknown, A extends Agent<T> = Agent<T>>(
  agent: A,
  input: string,
  options: RunOptions = {},
): SdkHandle<AnswerOf<A>> {
  checkFields("run options", options, RUN_OPTIONS);
  checkHost(options);
  checkAgent("agent", agent);
  checkInput(input);
  const own = ownLimits(agent);
  const limits = limitsFor(options, own);
  const { attachments, sessionId, runId, tenantId, userId, metadata, priority, signal } = options;
  const isKept = sessionId !== undefined || options.history !== undefined;
  return launch<AnswerOf<A>>(options, {
    runId,
    agents: [agent],
    limits,
    begin: (runtime) =>
      runtime.run(agent, input, {
        spawnBudget: toSpawnBudget(limits.tree),
        executionBudget: toExecutionBudget(limits.budget),
        // Without a session id or a history nobody could ask for the conversation again, so it is not stored.
        retention: isKept ? HistoryRetention.PERMANENT : HistoryRetention.NONE,
        attachments,
        sessionId,
        runId,
        tenantId,
        userId,
        metadata,
        priority,
        signal,
        facts: factsFor(isDefaultUsd(options, own)),
      }),
  });
}

/**
 * Continues a recorded run from where it stopped. If it is over already, returns its result again, and nothing is called; a failed one is
 * continued with `retryFailed`. With several agents, the result has the shape of one of them.
 */
export async function resume<T = unknown, A extends Agent<T> = Agent<T>>(
  runId: string,
  options: ResumeOptionsFor<A>,
): Promise<SdkResult<AnswerOf<A>>> {
  return startResume<T, A>(runId, options).result;
}

/** As `resume`, but returns a handle at once. */
export function startResume<T = unknown, A extends Agent<T> = Agent<T>>(
  runId: string,
  options: ResumeOptionsFor<A>,
): SdkHandle<AnswerOf<A>> {
  checkRunId(runId);
  // As one would write it after `run(agent, input, options)`.
  if (isAgent(options)) throw agentForOptions(options);
  checkFields("resume options", options, RESUME_OPTIONS);
  checkHost(options);
  const { agents, decisions, retryFailed, signal } = options;
  const list = isList(agents) ? agents : [agents];
  for (const [at, agent] of list.entries()) checkAgent(isList(agents) ? `agents[${at}]` : "agents", agent);
  if (options.journal === undefined) throw noJournal();
  checkOnRecord(options.journal);
  return launch<AnswerOf<A>>(options, {
    runId,
    agents: list,
    limits: undefined,
    begin: (runtime) => runtime.resume(runId, { decisions, retryFailed, signal }) as RootHandle<AnswerOf<A>>,
  });
}

function isList<A>(agents: A | readonly A[]): agents is readonly A[] {
  return Array.isArray(agents);
}

function agentForOptions(value: unknown): InvalidValueError {
  const expected = "an object with the agent in it, as in resume(runId, { agents: agent, journal })";
  return new InvalidValueError({ field: "resume options", value, expected });
}

function noJournal(): InvalidValueError {
  const expected = "the directory or the Journal that the run was recorded in";
  return new InvalidValueError({ field: "resume options.journal", value: undefined, expected });
}
