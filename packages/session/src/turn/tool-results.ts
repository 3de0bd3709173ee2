import { deepFreeze, type ToolCall, type ToolMessage } from "@ravi/kernel";
import { withNote } from "@ravi/kernel/loop";
import type { Verdict } from "../guardrails/chain.ts";
import type { TurnDeps } from "./deps.ts";
import type { CallDecisions } from "./call-decisions.ts";

/** A call, and the result that the model gets. */
export interface Answered {
  readonly call: ToolCall;
  readonly result: ToolMessage;
}

/** The results of a batch after extensions and guardrails have seen them. */
export interface Reviewed {
  readonly messages: readonly ToolMessage[];
  readonly isTerminal: boolean;
  readonly halt: Verdict | undefined;
}

/** Shows each result to extensions, then to guardrails, and applies what they decide. */
export async function reviewResults(
  answered: readonly Answered[],
  decisions: CallDecisions,
  deps: TurnDeps,
): Promise<Reviewed> {
  const { shown, isTerminal } = await showExtensions(answered, decisions, deps);
  const { messages, halt } = await askGuardrails(shown, decisions, deps);
  return { messages, isTerminal: isTerminal && halt === undefined, halt };
}

/** The results as extensions have changed them. Calls that were refused are not shown. */
async function showExtensions(
  answered: readonly Answered[],
  decisions: CallDecisions,
  { emit }: TurnDeps,
): Promise<{ readonly shown: readonly Answered[]; readonly isTerminal: boolean }> {
  let isTerminal = answered.length > 0;
  const shown: Answered[] = [];
  for (const { call, result } of answered) {
    if (decisions.refusals.has(call.id)) {
      isTerminal = false;
      shown.push({ call, result });
      continue;
    }
    const { content, isError = false } = result;
    const made = await emit("tool_result", { call, content, isError, terminate: false });
    if (!made.terminate) isTerminal = false;
    shown.push({ call, result: resultOf(call, made.content, made.isError) });
  }
  return { shown, isTerminal };
}

async function askGuardrails(
  answered: readonly Answered[],
  decisions: CallDecisions,
  { ctx, guard }: TurnDeps,
): Promise<Pick<Reviewed, "messages" | "halt">> {
  const loops = guard.afterBatch(
    answered.map(({ call, result: { content, isError = false } }) => ({
      call,
      content,
      isError,
      blocked: decisions.refusals.has(call.id),
    })),
  );
  let halt: Verdict | undefined;
  const messages: ToolMessage[] = [];
  for (const [at, { call, result }] of answered.entries()) {
    const { content, isError = false } = result;
    const isMade = !decisions.refusals.has(call.id);
    const shown = deepFreeze({ content, isError });
    const verdicts = isMade ? [...(await guard.after(call, shown, ctx.signal))] : [];
    const loop = loops[at];
    if (loop !== undefined) verdicts.unshift(loop);
    const warning = decisions.warnings.get(call.id);
    if (warning !== undefined) verdicts.push({ by: "before", action: "warn", reason: warning });
    halt ??= verdicts.find(({ action }) => action === "halt");
    messages.push(withVerdicts(result, verdicts));
  }
  return { messages, halt };
}

function withVerdicts(message: ToolMessage, verdicts: readonly Verdict[]): ToolMessage {
  const blocked = verdicts.find(({ action }) => action === "block");
  if (blocked !== undefined)
    return { ...message, content: `error: the result was withheld: ${blocked.reason}`, isError: true };
  return verdicts.reduce(
    (current, { reason }) => ({ ...current, content: withNote(current.content, `\n[warning: ${reason}]`) }),
    message,
  );
}

function resultOf(call: ToolCall, content: ToolMessage["content"], isError: boolean): ToolMessage {
  const message = { role: "tool", toolCallId: call.id, name: call.name, content } as const;
  return isError ? { ...message, isError } : message;
}
