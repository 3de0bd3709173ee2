import {
  type HireOutcome,
  isCancellation,
  isRaviError,
  type Leaf,
  type ModelResponse,
  type Operation,
  type Outcome,
  type RaviError,
  type Settled,
  ToolError,
  type ToolResult,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import type { Execution } from "./execution.ts";
import type { NamedGate } from "./gate.ts";
import { prepareHire } from "./hire-spec.ts";
import { auditHire } from "./hires.ts";
import { prepareModelCall } from "./model-call.ts";
import { prepareToolCall } from "./tool-call.ts";

/** A leaf that may begin, or what became of it before that. */
type Start = { readonly outcome: Outcome } | { readonly operation: Operation };

/** Leaves at once. First everything that may refuse or wait, in order; then all of them are begun; an outcome for each. */
export async function runBatch(exec: Execution, leaves: readonly Leaf[]): Promise<Outcome[]> {
  const { engine } = exec;
  const starts = await startsOf(exec, leaves);
  // Somebody may have waited for days: what has happened meanwhile counts.
  if (engine.suspension !== undefined) throw engine.suspension;
  const { error } = exec.token;
  if (error !== undefined) return leaves.map((): Outcome => ({ status: "cancelled", error }));
  await exec.check();
  const operations = starts.flatMap((start) => ("operation" in start ? [start.operation] : []));
  const settled = operations.length === 0 ? [] : await engine.all(operations);
  let next = 0;
  return starts.map((start) => {
    if ("outcome" in start) return start.outcome;
    const { operation } = start;
    const outcome = outcomeOf(exec, operation, settled[next++]);
    if (operation.kind === "hire") auditHire(exec, operation, outcome);
    return outcome;
  });
}

async function startsOf(exec: Execution, leaves: readonly Leaf[]): Promise<Start[]> {
  const turn = exec.modelCalls;
  const calls = leaves.map((leaf, index) => {
    const key = keyOf(exec, leaf, turn, index);
    return { key, leaf, admit: (gate?: NamedGate) => startOf(exec, leaf, key, gate) };
  });
  // Refused before it began: its outcome, like any other failure.
  const refused = (error: unknown): Start => ({ outcome: failureOf(exec, error) });
  if (leaves.some((leaf) => mayWait(exec, leaf))) {
    const admitted = await exec.gates.admitAll(calls);
    return admitted.map((start) => (start.status === "fulfilled" ? start.value : refused(start.reason)));
  }
  const starts: Start[] = [];
  for (const { admit } of calls) starts.push(await admit().catch(refused));
  return starts;
}

/** Whether somebody may be asked about it before it begins. */
function mayWait({ plan }: Execution, leaf: Leaf): boolean {
  if (leaf.kind === "llm") return plan.chat !== undefined;
  return leaf.kind === "tool" && (plan.function !== undefined || leaf.tool.needsApproval === true);
}

/** A hire takes its key when its turn comes. */
function keyOf(exec: Execution, leaf: Leaf, turn: number, index: number): string {
  if (leaf.kind === "llm") return exec.nextKey("llm", leaf.model.id);
  return leaf.kind === "tool" ? exec.placeKey(`tool:${turn}:${index}`) : "";
}

async function startOf(
  exec: Execution,
  leaf: Leaf,
  key: string,
  gate: NamedGate | undefined,
): Promise<Start> {
  if (leaf.kind === "hire") {
    const { spec, answered } = await prepareHire(exec, leaf, false);
    return answered === undefined ? { operation: spec } : { outcome: answered };
  }
  if (leaf.kind === "llm") {
    const { effect, refused } = await prepareModelCall(exec, key, leaf, gate);
    if (refused === undefined) return { operation: effect };
    return { outcome: { status: "completed", response: refused } };
  }
  const { effect, refused } = await prepareToolCall(exec, key, leaf, gate);
  return refused === undefined
    ? { operation: effect }
    : { outcome: { status: "completed", result: refused } };
}

function outcomeOf(exec: Execution, { kind }: Operation, settled: Settled | undefined): Outcome {
  if (settled?.ok !== true) return failureOf(exec, settled?.error);
  const { value } = settled;
  if (kind === "hire") return value as HireOutcome;
  if (kind === "llm") return { status: "completed", response: value as ModelResponse };
  return { status: "completed", result: value as ToolResult };
}

export function failureOf(exec: Execution, error: unknown): Outcome & { readonly error: RaviError } {
  const known = isRaviError(error)
    ? error
    : new ToolError({ toolName: exec.agentId, message: messageOf(error), cause: error });
  return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
}
