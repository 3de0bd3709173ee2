import { deepFreeze, type ToolCall, type ToolMessage } from "@ravi/kernel";
import { withNote } from "@ravi/kernel/loop";
import type { Verdict } from "../guardrails/chain.ts";
import type { TurnKit } from "./kit.ts";
import type { ToolBatch } from "./tool-batch.ts";
import type { Gate } from "./tool-gate.ts";

/** What a batch of calls has come to. */
export type Reviewed = Pick<ToolBatch, "messages" | "isTerminal" | "halt">;

/** Shows each result to extensions, then to guardrails, and marks it with what they have to say. */
export async function reviewResults(
  calls: readonly ToolCall[],
  results: readonly (ToolMessage | undefined)[],
  gate: Gate,
  { ctx, emit, guard }: TurnKit,
): Promise<Reviewed> {
  let terminal = calls.length > 0;
  const patched: (ToolMessage | undefined)[] = [];
  for (const [at, call] of calls.entries()) {
    const result = results[at];
    if (result === undefined || gate.refusals.has(call.id)) {
      terminal = false;
      patched.push(result);
      continue;
    }
    const shown = {
      call,
      content: result.content,
      isError: result.isError === true,
      terminate: false,
    };
    const { content, isError, terminate } = await emit("tool_result", shown);
    if (!terminate) terminal = false;
    patched.push(resultOf(call, content, isError));
  }
  const loops = guard.afterBatch(
    calls.flatMap((call, at) => {
      const result = patched[at];
      if (result === undefined) return [];
      const { content, isError = false } = result;
      return [{ call, content, isError, blocked: gate.refusals.has(call.id) }];
    }),
  );
  let halt: Verdict | undefined;
  const messages: (ToolMessage | undefined)[] = [];
  for (const [at, call] of calls.entries()) {
    const result = patched[at];
    if (result === undefined) {
      messages.push(undefined);
      continue;
    }
    const { content, isError = false } = result;
    const isMade = !gate.refusals.has(call.id);
    const shown = deepFreeze({ content, isError });
    const verdicts = isMade ? [...(await guard.after(call, shown, ctx.signal))] : [];
    const loop = loops[at];
    if (loop !== undefined) verdicts.unshift(loop);
    const warning = gate.warnings.get(call.id);
    if (warning !== undefined) verdicts.push({ by: "before", action: "warn", reason: warning });
    halt ??= verdicts.find(({ action }) => action === "halt");
    messages.push(marked(result, verdicts));
  }
  return { messages, isTerminal: terminal && halt === undefined, halt };
}

function marked(message: ToolMessage, verdicts: readonly Verdict[]): ToolMessage {
  const blocked = verdicts.find(({ action }) => action === "block");
  if (blocked !== undefined)
    return { ...message, content: `error: withheld: ${blocked.reason}`, isError: true };
  return verdicts.reduce(
    (so, { reason }) => ({ ...so, content: withNote(so.content, `\n[warning: ${reason}]`) }),
    message,
  );
}

function resultOf(call: ToolCall, content: ToolMessage["content"], isError: boolean): ToolMessage {
  const message = { role: "tool", toolCallId: call.id, name: call.name, content } as const;
  return isError ? { ...message, isError } : message;
}
