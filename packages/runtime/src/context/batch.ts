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
  type ToolResult,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { NOTHING_USED } from "../engine/hire-record.ts";
import type { Execution } from "./execution.ts";
import type { NamedGate } from "./gate.ts";
import { prepareHire } from "./hire-spec.ts";
import { auditHire, noteStop } from "./hires.ts";
import { prepareModelCall } from "./model-call.ts";
import { andThen } from "./and-then.ts";
import { mayAdmit } from "./plan.ts";
import { mayAsk, prepareToolCall } from "./tool-call.ts";

/** A leaf that may begin, or what became of it before that. */
type Start = { readonly outcome: Outcome } | { readonly operation: Operation };

/** Leaves at once. First everything that may refuse or wait, in order; then all of them are begun; an outcome for each. */
export function runBatch(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Outcome[]> {
  const admitted = leaves.some((leaf) => mayWait(exec, leaf))
    ? admitAll(exec, leaves)
    : startAll(exec, leaves);
  return isPromiseLike(admitted)
    ? admitted.then((starts) => afterAdmits(exec, leaves, starts))
    : afterAdmits(exec, leaves, admitted);
}

function afterAdmits(
  exec: Execution,
  leaves: readonly Leaf[],
  starts: readonly Start[],
): MaybePromise<Outcome[]> {
  // Somebody may have waited for days: what has happened meanwhile counts.
  const { suspension } = exec.engine;
  if (suspension !== undefined) throw suspension;
  const { error } = exec.token;
  if (error !== undefined) {
    return leaves.map(({ kind }) => ({ status: "cancelled", error, ...(kind === "hire" && NOTHING_USED) }));
  }
  const paused = exec.check();
  return isPromiseLike(paused) ? paused.then(() => makeAll(exec, starts)) : makeAll(exec, starts);
}

function makeAll(exec: Execution, starts: readonly Start[]): MaybePromise<Outcome[]> {
  const operations: Operation[] = [];
  for (const start of starts) if ("operation" in start) operations.push(start.operation);
  if (operations.length === 0) return outcomesOf(exec, starts, []);
  return andThen(exec.engine.all(operations), (settled) => outcomesOf(exec, starts, settled));
}

function outcomesOf(exec: Execution, starts: readonly Start[], settled: readonly Settled[]): Outcome[] {
  let next = 0;
  return starts.map((start) => {
    if ("outcome" in start) return start.outcome;
    const { operation } = start;
    const outcome = outcomeOf(exec, operation, settled[next++]);
    if (operation.kind === "hire") {
      auditHire(exec, operation, outcome);
      noteStop(exec, outcome as HireOutcome);
    }
    return outcome;
  });
}

/** With layers or approvals, which may ask somebody. Those of all calls are asked for together. */
function admitAll(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Start[]> {
  const turn = exec.modelCalls;
  const calls = leaves.map((leaf, index) => {
    const key = keyOf(exec, leaf, turn, index);
    return { key, admit: (gate?: NamedGate) => startOf(exec, leaf, key, gate) };
  });
  return andThen(exec.gates.admitAll(calls), (admitted) =>
    admitted.map((start, at) =>
      start.status === "fulfilled" ? start.value : refusal(exec, start.reason, leaves[at]),
    ),
  );
}

/** Without. A promise only where a permission or an agent's layers make one. */
function startAll(exec: Execution, leaves: readonly Leaf[]): MaybePromise<Start[]> {
  const turn = exec.modelCalls;
  const starts: Start[] = [];
  const from = (first: number): MaybePromise<Start[]> => {
    for (let at = first; at < leaves.length; at++) {
      const leaf = leaves[at];
      if (leaf === undefined) continue;
      try {
        const start = startOf(exec, leaf, keyOf(exec, leaf, turn, at), undefined);
        if (isPromiseLike(start)) {
          const refuse = (error: unknown): Start => refusal(exec, error, leaf);
          return start.then(undefined, refuse).then((done) => {
            starts.push(done);
            return from(at + 1);
          });
        }
        starts.push(start);
      } catch (error) {
        starts.push(refusal(exec, error, leaf));
      }
    }
    return starts;
  };
  return from(0);
}

/** Refused before it began: its outcome, like any other failure. */
function refusal(exec: Execution, error: unknown, leaf: Leaf | undefined): Start {
  return { outcome: { ...failureOf(exec, error), ...(leaf?.kind === "hire" && NOTHING_USED) } };
}

/** Whether somebody may be asked about it before it begins. */
function mayWait(exec: Execution, leaf: Leaf): boolean {
  if (leaf.kind === "llm") return mayAdmit(exec.plan.chat);
  return leaf.kind === "tool" && mayAsk(exec, leaf.tool);
}

/** A hire takes its key when its turn comes. */
function keyOf(exec: Execution, leaf: Leaf, turn: number, index: number): string {
  if (leaf.kind === "llm") return exec.nextKey("llm", leaf.model.id);
  return leaf.kind === "tool" ? exec.keys.place(turn, index) : "";
}

function startOf(exec: Execution, leaf: Leaf, key: string, gate: NamedGate | undefined): MaybePromise<Start> {
  if (leaf.kind === "hire") {
    return andThen(prepareHire(exec, leaf, false), ({ spec, answered }): Start =>
      answered === undefined ? { operation: spec } : { outcome: answered },
    );
  }
  if (leaf.kind === "llm") {
    return andThen(prepareModelCall(exec, key, leaf, gate), ({ effect, refused }): Start =>
      refused === undefined ? { operation: effect } : { outcome: { status: "completed", response: refused } },
    );
  }
  return andThen(prepareToolCall(exec, key, leaf, gate), ({ effect, refused }): Start => {
    if (refused === undefined) return { operation: effect };
    leaf.onResult?.(refused);
    return { outcome: { status: "completed", result: refused } };
  });
}

function outcomeOf(exec: Execution, { kind }: Operation, settled: Settled | undefined): Outcome {
  if (settled?.ok !== true) return failureOf(exec, settled?.error);
  const { value } = settled;
  if (kind === "hire") return value as HireOutcome;
  if (kind === "llm") return { status: "completed", response: value as ModelResponse };
  return { status: "completed", result: value as ToolResult };
}

export function failureOf(exec: Execution, error: unknown): Outcome & { readonly error: RaviError } {
  exec.noteRefusal(error);
  const known = isRaviError(error)
    ? error
    : new ToolError({ toolName: exec.agentId, message: messageOf(error), cause: error });
  return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
}
