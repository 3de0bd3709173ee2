import { type FunctionContext, type RunMeta, checkFields, HookEvent } from "@ravi/kernel";
import { type Approval, readApproval } from "@ravi/kernel/loop";
import { asJson } from "../as-json.ts";
import { hookBase } from "../guard.ts";
import { checkFunction, checkNames } from "../options.ts";
import type { FunctionMiddleware } from "../types.ts";
import { toolError } from "./refuse.ts";

export interface ApprovalOptions {
  /** Which tools are asked about. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /** Which calls are asked about, by more than the name. One that throws counts as yes. Default: all. */
  readonly when?: ((context: FunctionContext) => boolean) | undefined;
  /** What is asked, for whoever decides. Default: which agent wants to call which tool. */
  readonly question?: ((context: FunctionContext) => string) | undefined;
}

/** What is delivered as the answer. `true`, `"approve"`, `"approved"` and `"yes"` do as well; anything else denies. */
export type ApprovalAnswer = Approval;

/**
 * Asks before a tool is run, and waits durably: the process may end in between. It belongs to `admit`, so a call that waits
 * has not begun. A denial is an error result, which the model can read and act on.
 */
export function approval(options: ApprovalOptions = {}): FunctionMiddleware {
  checkFields("approval", options, ["tools", "when", "question"]);
  checkFunction("approval.when", options.when);
  checkFunction("approval.question", options.question);
  const tools =
    options.tools === undefined ? undefined : new Set(checkNames("approval.tools", options.tools));
  const asked = new WeakMap<RunMeta, Map<string, number>>();
  return {
    level: "function",
    name: "approval",
    admit(context, gate) {
      if (tools !== undefined && !tools.has(context.functionName)) return undefined;
      if (!isWanted(options.when, context)) return undefined;
      const name = nameOf(context, asked);
      const question = questionOf(options.question, context);
      const tell = (): void => {
        if (!context.hooks.has(HookEvent.APPROVAL_REQUESTED)) return;
        void context.hooks.dispatch(HookEvent.APPROVAL_REQUESTED, { ...hookBase(context), name, question });
      };
      const about = {
        question,
        agent: context.agentName,
        tool: context.functionName,
        callId: context.callId,
        arguments: asJson(context.arguments),
      };
      return gate.require(name, about, tell).then((answer) => {
        const { approved, reason } = readApproval(answer);
        if (approved) return;
        // Whoever answers in words has said why.
        const why = reason ?? (typeof answer === "string" ? answer : "no reason was given");
        context.result = toolError(`${context.functionName} was not approved: ${why}`);
      });
    },
  };
}

function isWanted(when: ApprovalOptions["when"], context: FunctionContext): boolean {
  try {
    return when === undefined || when(context);
  } catch {
    return true;
  }
}

function questionOf(question: ApprovalOptions["question"], context: FunctionContext): string {
  const plain = `${context.agentName} wants to call ${context.functionName}. Allow it?`;
  try {
    return question?.(context) ?? plain;
  } catch {
    return plain;
  }
}

/**
 * `approval:<call id>`. Servers reuse call ids, and an answer that was given once is kept: so a repeated id is numbered, and
 * a child's carries its execution. `meta` is new for each attempt at an execution, which asks in the same order again.
 */
function nameOf(
  { callId, meta, key }: FunctionContext,
  asked: WeakMap<RunMeta, Map<string, number>>,
): string {
  // A runtime's own key is unique in its execution, and is what it asks under for tools that say `needsApproval`.
  if (key !== undefined) return `approval:${meta.execId}:${key}`;
  const counts = asked.get(meta) ?? new Map<string, number>();
  asked.set(meta, counts);
  const count = (counts.get(callId) ?? 0) + 1;
  counts.set(callId, count);
  const scope: string = meta.execId;
  const prefix = scope === meta.runId ? "approval" : `approval:${scope}`;
  return `${prefix}:${callId}${count === 1 ? "" : `#${count}`}`;
}
