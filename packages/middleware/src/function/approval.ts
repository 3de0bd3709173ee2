import { type FunctionContext, type RunMeta, checkFields, HookEvent } from "@ravi/kernel";
import { type Approval, checkFunction, quietly, readApproval } from "@ravi/kernel/loop";
import { asJson } from "../common/as-json.ts";
import { hookBase } from "../common/report.ts";
import { checkNames } from "../common/options.ts";
import type { FunctionMiddleware } from "../types.ts";
import { toolError } from "./refuse.ts";

export interface ApprovalOptions {
  /** The tools that need approval. Default: all. */
  readonly tools?: readonly string[] | undefined;
  /**
   * Decides by more than the name which calls need approval. Only `false` means that one does not: if it throws, approval is
   * needed. Default: all calls.
   */
  readonly when?: ((context: FunctionContext) => boolean) | undefined;
  /** The question to the person who decides. Default: which agent wants to call which tool. */
  readonly question?: ((context: FunctionContext) => string) | undefined;
}

/** The answer to an approval request. `true`, `"approve"`, `"approved"` and `"yes"` approve as well; anything else denies. */
export type ApprovalAnswer = Approval;

/**
 * Asks for approval before a tool is run, and waits durably: the process may end in between. It runs in `admit`, so a waiting
 * call has not begun. A denial becomes an error result that the model can read and act on.
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
    tools: options.tools,
    admit(context, gate) {
      if (tools !== undefined && !tools.has(context.functionName)) return undefined;
      if (!needsApproval(options.when, context)) return undefined;
      const name = nameOf(context, asked);
      const question = questionOf(options.question, context);
      const notify = (): void => {
        if (!context.hooks.has(HookEvent.APPROVAL_REQUESTED)) return;
        const { callId } = context;
        void context.hooks.dispatch(HookEvent.APPROVAL_REQUESTED, {
          ...hookBase(context),
          name,
          question,
          callId,
        });
      };
      const details = {
        question,
        agent: context.agentName,
        tool: context.functionName,
        callId: context.callId,
        arguments: asJson(context.arguments),
      };
      return gate.require(name, details, notify).then((answer) => {
        const { approved, reason } = readApproval(answer);
        if (approved) return;
        // An answer in words contains the reason.
        const why = reason ?? (typeof answer === "string" ? answer : "no reason was given");
        context.result = toolError(`${context.functionName} was not approved: ${why}`);
      });
    },
  };
}

/** An undefined from a forgotten `return`, or a promise, must not let a call pass. Neither must a predicate that fails. */
function needsApproval(when: ApprovalOptions["when"], context: FunctionContext): boolean {
  return quietly(() => when?.(context)) !== false;
}

function questionOf(question: ApprovalOptions["question"], context: FunctionContext): string {
  const own: unknown = quietly(() => question?.(context));
  return typeof own === "string"
    ? own
    : `${context.agentName} wants to call ${context.functionName}. Allow it?`;
}

/**
 * `approval:<call id>`. Servers reuse call ids, and an answer is kept once it was given, so a repeated id gets a number, and a
 * child's has its execution id. `meta` is new for each attempt at an execution, which then asks in the same order again.
 */
function nameOf(
  { callId, meta, key }: FunctionContext,
  asked: WeakMap<RunMeta, Map<string, number>>,
): string {
  // The runtime's key is unique within an execution. The runtime uses the same name for tools with `needsApproval`.
  if (key !== undefined) return `approval:${meta.execId}:${key}`;
  const counts = asked.get(meta) ?? new Map<string, number>();
  asked.set(meta, counts);
  const count = (counts.get(callId) ?? 0) + 1;
  counts.set(callId, count);
  const scope: string = meta.execId;
  const prefix = scope === meta.runId ? "approval" : `approval:${scope}`;
  return `${prefix}:${callId}${count === 1 ? "" : `#${count}`}`;
}
