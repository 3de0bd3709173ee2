import {
  isCancellation,
  isRaviError,
  type Leaf,
  type Outcome,
  type RaviError,
  ToolError,
} from "@ravi/kernel";
import { messageOf } from "@ravi/kernel/loop";
import { Suspension } from "../engine/suspension.ts";
import type { Execution } from "./execution.ts";
import { hire } from "./hires.ts";
import { prepareModelCall } from "./model-call.ts";
import { prepareToolCall } from "./tool-call.ts";

/** Leaves at once. First everything that may refuse or wait, in order; then all of them are begun; an outcome for each. */
export async function runBatch(exec: Execution, leaves: readonly Leaf[]): Promise<Outcome[]> {
  const turn = exec.modelCalls;
  const starts = await prepareAll(exec, leaves, turn);
  // Somebody may have waited for days: what has happened meanwhile counts.
  const stopped = exec.tree.suspension ?? exec.token.error;
  if (stopped instanceof Suspension) throw stopped;
  if (stopped !== undefined) return leaves.map((): Outcome => ({ status: "cancelled", error: stopped }));
  await exec.check();
  const outcomes = await Promise.all(starts.map((start) => outcomeOf(exec, start)));
  // What unwinds the whole run is not an outcome of one leaf.
  if (exec.tree.suspension !== undefined) throw exec.tree.suspension;
  return outcomes;
}

/** The admits in the order asked. One that waits for an answer does not keep the next from asking: all wait together. */
async function prepareAll(exec: Execution, leaves: readonly Leaf[], turn: number): Promise<Start[]> {
  const prepared: Promise<Start>[] = [];
  for (const [index, leaf] of leaves.entries()) {
    const { promise: waits, resolve } = Promise.withResolvers<void>();
    exec.onGateWait = resolve;
    const start = prepare(exec, leaf, turn, index);
    prepared.push(start);
    await Promise.race([start.catch(() => {}), waits]);
  }
  exec.onGateWait = undefined;
  return Promise.all(prepared);
}

type Start = () => Promise<Outcome>;

async function prepare(exec: Execution, leaf: Leaf, turn: number, index: number): Promise<Start> {
  if (leaf.kind === "hire") return () => hire(exec, leaf);
  try {
    if (leaf.kind === "llm") {
      const { effect, refused } = await prepareModelCall(exec, exec.nextKey("llm", leaf.model.id), leaf);
      return async () => ({ status: "completed", response: refused ?? (await exec.engine.effect(effect)) });
    }
    const key = exec.placeKey(`tool:${turn}:${index}`);
    const { effect, refused } = await prepareToolCall(exec, key, leaf.call, leaf.tool);
    exec.engine.requireDecision(effect);
    return async () => ({ status: "completed", result: refused ?? (await exec.engine.effect(effect)) });
  } catch (error) {
    if (error instanceof Suspension) throw error;
    // Refused before it began: its outcome, like any other failure.
    return async () => {
      throw error;
    };
  }
}

async function outcomeOf(exec: Execution, start: Start): Promise<Outcome> {
  try {
    return await start();
  } catch (error) {
    const known: RaviError = isRaviError(error)
      ? error
      : new ToolError({ toolName: exec.agentId, message: messageOf(error), cause: error });
    return { status: isCancellation(known) ? "cancelled" : "failed", error: known };
  }
}
