import {
  type Agent,
  type AnswerOf,
  checkFields,
  HistoryRetention,
  InvalidValueError,
  type RootHandle,
} from "@ravi/kernel";
import { ownLimits } from "../agents/blueprint.ts";
import { isDefaultUsd, limitsFor, toExecutionBudget, toSpawnBudget } from "../limits.ts";
import { checkAgent, checkHost, checkInput, checkRunId } from "./check.ts";
import { checkOnRecord } from "./journals.ts";
import { launch, type SdkHandle } from "./launch.ts";
import { RESUME_OPTIONS, type ResumeOptions, RUN_OPTIONS, type RunOptions } from "./options.ts";
import type { SdkResult } from "./result.ts";

/** Runs an agent to its end, whatever end that is: read `result.status`, or call `result.unwrap()`. */
export function run<T>(agent: Agent<T>, input: string, options?: RunOptions): Promise<SdkResult<T>>;
/** A choice between agents whose results differ in shape gives one of those shapes. */
export function run<A extends Agent>(
  agent: A,
  input: string,
  options?: RunOptions,
): Promise<SdkResult<AnswerOf<A>>>;
export async function run<T>(
  agent: Agent<T>,
  input: string,
  options: RunOptions = {},
): Promise<SdkResult<T>> {
  return start(agent, input, options).result;
}

/** Starts an agent and gives its handle at once. */
export function start<T>(agent: Agent<T>, input: string, options?: RunOptions): SdkHandle<T>;
export function start<A extends Agent>(agent: A, input: string, options?: RunOptions): SdkHandle<AnswerOf<A>>;
export function start<T>(agent: Agent<T>, input: string, options: RunOptions = {}): SdkHandle<T> {
  checkFields("run options", options, RUN_OPTIONS);
  checkHost(options);
  checkAgent("agent", agent);
  checkInput(input);
  const own = ownLimits(agent);
  const limits = limitsFor(options, own);
  const { sessionId, runId, tenantId, userId, metadata, priority, signal } = options;
  const isKept = sessionId !== undefined || options.history !== undefined;
  return launch<T>(options, {
    agents: [agent],
    limits,
    isDefaultUsd: isDefaultUsd(options, own),
    begin: (runtime) =>
      runtime.run(agent, input, {
        spawnBudget: toSpawnBudget(limits.tree),
        executionBudget: toExecutionBudget(limits.budget),
        // A conversation that nobody named can never be asked for again.
        retention: isKept ? HistoryRetention.PERMANENT : HistoryRetention.NONE,
        sessionId,
        runId,
        tenantId,
        userId,
        metadata,
        priority,
        signal,
      }),
  });
}

/** Goes on with a run that is on record, from where it stood. One that is over gives its result again. */
export function resume<T>(runId: string, options: ResumeOptions<T>): Promise<SdkResult<T>>;
/** Of several agents whose results differ in shape, it is not known which it was. */
export function resume(runId: string, options: ResumeOptions): Promise<SdkResult>;
export async function resume<T>(runId: string, options: ResumeOptions<T>): Promise<SdkResult<T>> {
  return startResume(runId, options).result;
}

/** `resume` as a handle. */
export function startResume<T>(runId: string, options: ResumeOptions<T>): SdkHandle<T>;
export function startResume(runId: string, options: ResumeOptions): SdkHandle;
export function startResume<T>(runId: string, options: ResumeOptions<T>): SdkHandle<T> {
  checkRunId(runId);
  checkFields("resume options", options, RESUME_OPTIONS);
  checkHost(options);
  const { agents, decisions, signal } = options;
  const list = isList(agents) ? agents : [agents];
  for (const [at, agent] of list.entries()) checkAgent(`agents[${at}]`, agent);
  if (options.journal === undefined) throw noJournal();
  checkOnRecord(options.journal);
  return launch<T>(options, {
    agents: list,
    limits: undefined,
    // What the call said is not on record; a default is then known by its amount.
    isDefaultUsd: list.every((agent) => isDefaultUsd({}, ownLimits(agent))),
    begin: (runtime) => runtime.resume(runId, { decisions, signal }) as RootHandle<T>,
  });
}

function isList<T>(agents: Agent<T> | readonly Agent<T>[]): agents is readonly Agent<T>[] {
  return Array.isArray(agents);
}

function noJournal(): InvalidValueError {
  const expected = "the directory, or the journal, that the run was recorded in";
  return new InvalidValueError({ field: "resume options.journal", value: undefined, expected });
}
