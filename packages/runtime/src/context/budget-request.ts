import { type BudgetExhaustedError, HookEvent, type JsonValue, type Spend } from "@ravi/kernel";
import type { Execution } from "./execution.ts";

const DIMENSIONS = ["tokens", "cost", "turns", "toolCalls"] as const satisfies readonly (keyof Spend)[];

/**
 * Asks the person who runs the tree for more budget, and waits for the answer as long as it takes. Returns whether more was granted. The
 * answer says how much, so an agent cannot raise its own limits.
 */
export async function requestBudget(exec: Execution, refusal: BudgetExhaustedError): Promise<boolean> {
  const { engine } = exec;
  const dimension = DIMENSIONS.find((name) => name === refusal.dimension);
  if (engine.raise === undefined || dimension === undefined || refusal.raisable === false) return false;
  const name = `approval:budget:${exec.execId}`;
  const how = `Answer with the amount to add, for example {"${dimension}": 5}, or with false.`;
  let question = `${exec.agentId} has used up its budget and asks for more: ${refusal.message}. ${how}`;
  for (;;) {
    const answer = await ask(exec, name, question);
    if (answer === false || answer === null) return false;
    const granted = amountOf(answer);
    if (granted !== undefined) {
      await engine.raise(exec.nextKey("raise", "budget"), granted);
      return true;
    }
    // The answer names no valid amount, so nothing is granted: ask again.
    question = `${JSON.stringify(answer)} is not a valid amount for ${exec.agentId}; expected whole numbers, or for cost dollars up to ${MAX_USD}. ${how}`;
  }
}

function ask(exec: Execution, name: string, question: string): Promise<JsonValue> {
  const onWait = (): void => {
    exec.emit({ type: "progress", name: "approvalRequested", data: { name, question } });
    if (exec.hooks.has(HookEvent.APPROVAL_REQUESTED))
      void exec.hooks.dispatch(HookEvent.APPROVAL_REQUESTED, { ...exec.hookBase(false), name, question });
  };
  return exec.engine.wait({ kind: "wait", key: exec.nextKey("wait", name), name, question, onWait });
}

/** Ledgers count whole nano-dollars, so this is the most that they can represent exactly. */
const MAX_USD = Number.MAX_SAFE_INTEGER / 1e9;

/** The amount that the answer grants; undefined if it is not a valid amount, or not above 0 in any dimension. */
function amountOf(answer: JsonValue): Partial<Spend> | undefined {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return undefined;
  const granted: { -readonly [D in keyof Spend]?: number } = {};
  for (const [name, amount] of Object.entries(answer)) {
    const dimension = DIMENSIONS.find((known) => known === name);
    if (dimension === undefined || typeof amount !== "number") return undefined;
    const isAmount = dimension === "cost" ? amount <= MAX_USD : Number.isSafeInteger(amount);
    if (!isAmount || !(amount >= 0)) return undefined;
    granted[dimension] = amount;
  }
  return DIMENSIONS.some((dimension) => (granted[dimension] ?? 0) > 0) ? granted : undefined;
}
