import {
  type HireOutcome,
  isCancellation,
  isPromiseLike,
  isRaviError,
  type Leaf,
  type MaybePromise,
  type ModelResponse,
  type Operation,
  type Outcome,
  type RaviError,
  type Settled,
  ToolError,
  type ToolLeaf,
  type ToolResult,
  type Gate,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { NOTHING_USED } from "../engine/hire-record.ts";
import type { Execution } from "./execution.ts";
import { type PreparedHire, prepareHire } from "./hire-spec.ts";
import { hired } from "./hires.ts";
import { prepareModelCall } from "./model-call.ts";
import type { ModelEffect } from "./model-effect.ts";
import { andThen } from "../promises/and-then.ts";
import { mayAdmit } from "./plan.ts";
import { mayAsk, prepareToolCall } from "./tool-call.ts";
import type { ToolEffect } from "./tool-effect.ts";

/** A leaf that does not begin, because it was refused or a layer has answered it, with its outcome. */
interface Refused {
  readonly kind: "refused";
  readonly outcome: Outcome;
}

/** A leaf that begins, or one that does not. */
type Start = Operation | Refused;

/**
 * Runs several leaves at the same time, and returns an outcome for each. First everything that may refuse or wait is done, in order; then
 * all of them begin.
 */
export function runBatch(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Outcome[]> {
  const starts = mayAnyWait(exec, leaves) ? admitAll(exec, leaves) : startAll(exec, leaves);
  return andThen(starts, afterAdmits, exec, leaves);
}

function afterAdmits(
  starts: readonly Start[],
  exec: Execution,
  leaves: readonly Leaf[],
): MaybePromise<Outcome[]> {
  // An approval may have taken days, and the run may have been stopped in the meantime.
  const { suspension } = exec.engine;
  if (suspension !== undefined) throw suspension;
  const { error } = exec.token;
  return error === undefined ? andThen(exec.check(), makeAll, exec, starts) : allCancelled(leaves, error);
}

function allCancelled(leaves: readonly Leaf[], error: RaviError): Outcome[] {
  return leaves.map(({ kind }) => ({ status: "cancelled", error, ...(kind === "hire" && NOTHING_USED) }));
}

function makeAll(_: void, exec: Execution, starts: readonly Start[]): MaybePromise<Outcome[]> {
  const operations = starts.every(isOperation) ? starts : starts.filter(isOperation);
  const settled = operations.length === 0 ? NONE : exec.engine.all(operations);
  return andThen(settled, outcomesOf, exec, starts);
}

const NONE: readonly Settled[] = Object.freeze([]);

function isOperation(start: Start): start is Operation {
  return start.kind !== "refused";
}

function outcomesOf(settled: readonly Settled[], exec: Execution, starts: readonly Start[]): Outcome[] {
  let next = 0;
  return starts.map((start) => {
    if (start.kind === "refused") return start.outcome;
    const outcome = outcomeOf(exec, start, settled[next++]);
    return start.kind === "hire" ? hired(exec, start, outcome as HireOutcome) : outcome;
  });
}

/** Prepares the leaves if layers or approvals may ask somebody. The questions of all calls are asked together. */
function admitAll(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Start[]> {
  const turn = exec.modelCalls;
  const calls = leaves.map((leaf, index) => {
    const key = keyOf(exec, leaf, turn, index);
    const tool = leaf.kind === "tool" ? leaf : undefined;
    return { key, tool, admit: (gate?: Gate) => startOf(exec, leaf, key, gate) };
  });
  return andThen(exec.gates.admitAll(calls), (admitted) =>
    admitted.map((start, at) =>
      start.status === "fulfilled" ? start.value : refusal(exec, start.reason, leaves[at]),
    ),
  );
}

/** Prepares the leaves if nobody can be asked. Makes no promise if no check makes one. */
function startAll(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Start[]> {
  const turn = exec.modelCalls;
  const [only] = leaves;
  // Most turns ask for one thing, and the first push onto an empty array allocates room for 17 elements.
  if (only !== undefined && leaves.length === 1) return andThen(startOrRefusal(exec, only, turn, 0), listOf);
  const starts: Start[] = [];
  for (const [at, leaf] of leaves.entries()) {
    const start = startOrRefusal(exec, leaf, turn, at);
    if (isPromiseLike(start)) return startRest(exec, leaves, turn, starts, start);
    starts.push(start);
  }
  return starts;
}

export function listOf<T>(one: T): T[] {
  return [one];
}

/** The rest of `startAll` after a leaf that has to be waited for. Each leaf is prepared after the one before it. */
async function startRest(
  exec: Execution,
  leaves: readonly Leaf[],
  turn: number,
  starts: Start[],
  waiting: PromiseLike<Start>,
): Promise<Start[]> {
  starts.push(await waiting);
  for (const leaf of leaves.slice(starts.length)) {
    const start = startOrRefusal(exec, leaf, turn, starts.length);
    starts.push(isPromiseLike(start) ? await start : start);
  }
  return starts;
}

function startOrRefusal(exec: Execution, leaf: Leaf, turn: number, at: number): MaybePromise<Start> {
  try {
    const start = startOf(exec, leaf, keyOf(exec, leaf, turn, at), undefined);
    return isPromiseLike(start) ? orRefusal(start, exec, leaf) : start;
  } catch (error) {
    return refusal(exec, error, leaf);
  }
}

function orRefusal(start: PromiseLike<Start>, exec: Execution, leaf: Leaf): Promise<Start> {
  return Promise.resolve(start).then(undefined, (error: unknown) => refusal(exec, error, leaf));
}

/** The outcome of a leaf that was refused before it began, like that of any other failure. */
function refusal(exec: Execution, error: unknown, leaf: Leaf | undefined): Refused {
  return notBegun({ ...failureOf(exec, error), ...(leaf?.kind === "hire" && NOTHING_USED) });
}

function notBegun(outcome: Outcome): Refused {
  return { kind: "refused", outcome };
}

function mayAnyWait(exec: Execution, leaves: readonly Leaf[]): boolean {
  for (const leaf of leaves) if (mayWait(exec, leaf)) return true;
  return false;
}

/** Whether a layer or a person may be asked about the leaf before it begins. */
function mayWait(exec: Execution, leaf: Leaf): boolean {
  if (leaf.kind === "llm") return mayAdmit(exec.plan.chat);
  return leaf.kind === "tool" && mayAsk(exec, leaf.tool);
}

/** The key of a leaf; empty for a hire, which takes its key in `prepareHire`. */
function keyOf(exec: Execution, leaf: Leaf, turn: number, index: number): string {
  if (leaf.kind === "llm") return exec.nextKey("llm", leaf.model.id);
  return leaf.kind === "tool" ? exec.keys.place(turn, index) : "";
}

function startOf(exec: Execution, leaf: Leaf, key: string, gate: Gate | undefined): MaybePromise<Start> {
  if (leaf.kind === "tool") return andThen(prepareToolCall(exec, leaf, key, gate), toolStart, leaf);
  if (leaf.kind === "llm") return andThen(prepareModelCall(exec, leaf, key, gate), modelStart);
  return andThen(prepareHire(exec, leaf, false), hireStart);
}

function toolStart(call: ToolEffect, leaf: ToolLeaf): Start {
  const { refused: result } = call;
  if (result === undefined) return call;
  leaf.onResult?.(result);
  return notBegun({ status: "completed", result });
}

function modelStart(call: ModelEffect): Start {
  const { refused: response } = call;
  return response === undefined ? call : notBegun({ status: "completed", response });
}

function hireStart({ spec, answered }: PreparedHire): Start {
  return answered === undefined ? spec : notBegun(answered);
}

function outcomeOf(exec: Execution, { kind }: Operation, settled: Settled | undefined): Outcome {
  if (settled?.ok !== true) return failureOf(exec, settled?.error);
  const { value } = settled;
  if (kind === "hire") return value as HireOutcome;
  if (kind === "llm") return { status: "completed", response: value as ModelResponse };
  return { status: "completed", result: value as ToolResult };
}

/** The outcome of a leaf that failed. If a limit refused it, the execution remembers the limit. */
export function failureOf(exec: Execution, error: unknown): Outcome & { readonly error: RaviError } {
  exec.noteRefusal(error);
  const known = isRaviError(error)
    ? error
    : new ToolError({ toolName: exec.agentId, message: messageOf(error), cause: error });
  return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
}
