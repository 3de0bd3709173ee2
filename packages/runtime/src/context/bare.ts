import {
  type CallOptions,
  type HireLeaf,
  isPromiseLike,
  type Leaf,
  type LLMClient,
  type LlmLeaf,
  type MaybePromise,
  type ModelRequest,
  type ModelResponse,
  NO_HOOKS,
  type Outcome,
  type Skippable,
  type Tally,
  type ToolContext,
  type ToolLeaf,
  type ToolOutcome,
  type ToolResult,
  wantsApproval,
} from "@ravi/kernel";
import {
  answerProblem,
  isParsed,
  type Parsed,
  readArguments,
  withTextArguments,
  soundUsage,
  toolFailure,
} from "@ravi/kernel/loop";
import { rejected } from "../promises/rejected.ts";
import { notBegun, refused } from "./exclusive.ts";
import { andThen } from "../promises/and-then.ts";
import { failureOf, listOf, runBatch } from "./batch.ts";
import { executeTool } from "./execute-tool.ts";
import type { Execution } from "./execution.ts";
import { hireOrFail } from "./hires.ts";
import { refuseStopped } from "./reserved.ts";
import { publishProgress } from "./tool-progress.ts";

// A shortcut for executions without a journal, limits, layers and hooks. The rules that are left (one operation at a time, cancellation)
// are enforced by the execution itself. A turn costs a quarter of what it costs the usual way.

/** Whether nothing stands between this execution and its models and tools. */
export function isBare({ ports, plan }: Pick<Execution, "ports" | "plan">): boolean {
  const { meter, limiter, permissions, telemetry, auditLog } = ports;
  const isSurrounded = plan.chat !== undefined || plan.function !== undefined || plan.hooks !== NO_HOOKS;
  if (isSurrounded || meter !== undefined || limiter !== undefined) return false;
  return isOff(permissions) && isOff(telemetry) && isOff(auditLog);
}

function isOff(service: Skippable | undefined): boolean {
  return service === undefined || service.isNoop === true;
}

/** The options of a model call. Plain fields and no getters, because a model that wraps another may spread them, or write them to a log. */
function callOptions(exec: Execution): CallOptions {
  return { signal: exec.signal, idempotencyKey: `${exec.execId}:llm#${++exec.modelCalls}` };
}

function toolContext(exec: Execution, tally: Tally, callId: string): ToolContext {
  return {
    signal: exec.signal,
    scope: exec.scope,
    idempotencyKey: `${exec.execId}:tool#${++exec.toolCalls}`,
    llm: exec.toolLlm ?? toolLlm(exec, tally),
    progress: (name, data) => publishProgress(exec, callId, name, data),
  };
}

/** The same for all tools of an execution, because here a model call does not depend on which of them makes it. */
function toolLlm(exec: Execution, tally: Tally): ToolContext["llm"] {
  const llm: ToolContext["llm"] = (model, request) => bareModelCall(exec, tally, { model, request }, true);
  exec.toolLlm = llm;
  return llm;
}

/** A model call of the agent itself, in its lane. Makes one promise beside the provider's. */
export function bareLlm(
  exec: Execution,
  tally: Tally,
  model: LLMClient,
  request: ModelRequest,
): Promise<ModelResponse> {
  try {
    exec.lane.enter(model.id);
  } catch (error) {
    return notBegun(exec, error);
  }
  const answered = generate(exec, model, request).then(
    (response) => {
      exec.lane.leave();
      return counted(tally, model, response, false);
    },
    (error: unknown) => {
      throw refused(exec, error);
    },
  );
  return exec.lane.hold(answered);
}

/** The same for a loop, which awaits the provider's own promise. */
export function bareAsk(
  exec: Execution,
  model: LLMClient,
  request: ModelRequest,
): Promise<ModelResponse> | undefined {
  if (exec.engine.isWatched) return undefined;
  exec.lane.enter(model.id);
  return generate(exec, model, request);
}

/** A model in plain JavaScript may throw synchronously, or return no promise. */
function generate(exec: Execution, model: LLMClient, request: ModelRequest): Promise<ModelResponse> {
  try {
    exec.checkStopped();
    return Promise.resolve(model.generate(request, callOptions(exec)));
  } catch (error) {
    return rejected(error);
  }
}

async function bareModelCall(
  exec: Execution,
  tally: Tally,
  { model, request }: Pick<LlmLeaf, "model" | "request">,
  isNested: boolean,
): Promise<ModelResponse> {
  refuseStopped(exec, undefined);
  return counted(tally, model, await model.generate(request, callOptions(exec)), isNested);
}

/** Counts an answered call, and checks its answer. */
export function counted(
  tally: Tally,
  model: LLMClient,
  response: ModelResponse,
  isNested: boolean,
): ModelResponse {
  tally.model(soundUsage(response?.usage), isNested);
  const problem = answerProblem(model, response);
  if (problem !== undefined) throw problem;
  return withTextArguments(response);
}

/** Makes no promise if neither the schema nor the tool makes one. */
function bareToolCall(exec: Execution, tally: Tally, leaf: ToolLeaf): MaybePromise<ToolResult> {
  const { call, tool, validator = exec.ports.validator } = leaf;
  const parsed = readArguments(call, tool, validator);
  return isParsed(parsed)
    ? callParsed(parsed, exec, tally, leaf)
    : callParsedLater(parsed, exec, tally, leaf);
}

async function callParsedLater(
  parsed: PromiseLike<Parsed<unknown>>,
  exec: Execution,
  tally: Tally,
  leaf: ToolLeaf,
): Promise<ToolResult> {
  const read = await parsed;
  // The run may have been stopped while the arguments were read.
  exec.token.check();
  return callParsed(read, exec, tally, leaf);
}

function callParsed(
  parsed: Parsed<unknown>,
  exec: Execution,
  tally: Tally,
  { call, tool }: ToolLeaf,
): MaybePromise<ToolResult> {
  if (!parsed.ok) return toolFailure(parsed.problem);
  tally.tool();
  return executeTool(exec, tool, parsed.value, toolContext(exec, tally, call.id));
}

/** Runs a batch. Makes no promise if every tool returns synchronously. */
export function bareBatch(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Outcome[]> {
  const { tally } = exec;
  if (tally === undefined) return runBatch(exec, leaves);
  const [only] = leaves;
  // Most turns ask for one thing, and the first push onto an empty array allocates room for 17 elements.
  if (only !== undefined && leaves.length === 1) return andThen(outcomeOf(exec, tally, only), listOf);
  const outcomes: MaybePromise<Outcome>[] = [];
  let isWaiting = false;
  for (const leaf of leaves) {
    const outcome = outcomeOf(exec, tally, leaf);
    isWaiting ||= isPromiseLike(outcome);
    outcomes.push(outcome);
  }
  return isWaiting ? whenAll(outcomes) : (outcomes as Outcome[]);
}

/** None of them rejects: a failure is an outcome. */
async function whenAll(outcomes: readonly MaybePromise<Outcome>[]): Promise<Outcome[]> {
  const done: Outcome[] = [];
  for (const outcome of outcomes) done.push(isPromiseLike(outcome) ? await outcome : outcome);
  return done;
}

/** Whether a leaf can take the shortcut. A tool with a time limit, or one that needs approval, cannot. */
export function isPlain(leaf: Leaf): boolean {
  return leaf.kind !== "tool" || (!wantsApproval(leaf.tool) && leaf.tool.timeoutS === undefined);
}

function outcomeOf(exec: Execution, tally: Tally, leaf: Leaf): MaybePromise<Outcome> {
  return leaf.kind === "tool" ? toolOutcomeOf(exec, tally, leaf) : outcomeLater(exec, tally, leaf);
}

function outcomeLater(exec: Execution, tally: Tally, leaf: HireLeaf | LlmLeaf): Promise<Outcome> {
  const failure = (error: unknown): Outcome => failureOf(exec, error);
  if (leaf.kind === "hire") return hireOrFail(exec, leaf, failure);
  return bareModelCall(exec, tally, leaf, false).then(
    (response): Outcome => ({ status: "completed", response }),
    failure,
  );
}

function toolOutcomeOf(exec: Execution, tally: Tally, leaf: ToolLeaf): MaybePromise<Outcome> {
  try {
    const result = bareToolCall(exec, tally, leaf);
    return isPromiseLike(result) ? completedLater(result, exec, leaf) : completed(leaf, result);
  } catch (error) {
    return failureOf(exec, error);
  }
}

function completedLater(result: PromiseLike<ToolResult>, exec: Execution, leaf: ToolLeaf): Promise<Outcome> {
  return Promise.resolve(result).then(
    (done) => completed(leaf, done),
    (error: unknown): Outcome => failureOf(exec, error),
  );
}

function completed({ onResult }: ToolLeaf, result: ToolResult): ToolOutcome {
  onResult?.(result);
  return { status: "completed", result };
}
