import {
  cancellationOf,
  type HireLeaf,
  HookEvent,
  type ModelResponse,
  type RaviError,
  type ToolMessage,
} from "@ravi/kernel";
import { abortable, hookBase, isCutOff, shorten, toolTurn, type ToolTurn } from "@ravi/kernel/loop";
import type { Verdict } from "../guardrails/chain.ts";
import type { TurnDeps } from "./deps.ts";
import { decideCalls, ALLOW_ALL } from "./call-decisions.ts";
import { type Reviewed, reviewResults } from "./tool-results.ts";

/** What came of the tool calls of one model answer. */
export interface ToolBatch {
  /** For each call, in the order asked; undefined if the run was stopped before its result. */
  readonly messages: readonly (ToolMessage | undefined)[];
  /** Whether every call of the batch said that no further model call is needed. */
  readonly isTerminal: boolean;
  readonly halt: Verdict | undefined;
  readonly stop: RaviError | undefined;
}

/**
 * Makes the tool calls of one answer: asks extensions and guardrails, makes the calls, then shows the results to extensions and
 * guardrails.
 */
export async function toolBatch(response: ModelResponse, deps: TurnDeps): Promise<ToolBatch> {
  const { ctx, report, attachments } = deps;
  const { concurrency, validator, maxChars } = deps.settings;
  const calls = response.message.toolCalls ?? [];
  for (const call of calls) report({ type: "toolCall", call });
  const isBroken = isCutOff(response);
  const decisions = isBroken ? ALLOW_ALL : await decideCalls(calls, deps);
  const done = new Map<string, ToolMessage>();
  let turn: ToolTurn;
  try {
    turn = await abortable(
      toolTurn(ctx, response, deps.merged.tools, {
        concurrency,
        validator,
        attachments,
        before: ({ id }) => decisions.refusals.get(id),
        onHire: (_, leaf) => reportHire(leaf, deps),
        onResult: ({ id }, message) => void done.set(id, message),
      }),
      ctx.signal,
    );
  } catch (error) {
    if (!ctx.signal.aborted) throw error;
    turn = { messages: [], stop: cancellationOf(ctx.signal) };
  }
  const shortened = (result: ToolMessage): ToolMessage => ({
    ...result,
    content: shorten(result.content, maxChars),
  });
  // If the run was stopped, unfinished calls get a result that says so. That is not the call's own result, so only results of
  // calls that finished are kept.
  if (turn.stop !== undefined && turn.stop.code !== "BUDGET_EXHAUSTED") {
    const kept = calls.map(({ id }) => done.get(id)).map((result) => result && shortened(result));
    return { messages: kept, isTerminal: false, halt: undefined, stop: turn.stop };
  }
  const results = turn.messages.map(shortened);
  const plain: Reviewed = { messages: results, isTerminal: false, halt: undefined };
  try {
    const answered = calls.flatMap((call, at) => {
      const result = results[at];
      return result === undefined ? [] : [{ call, result }];
    });
    const reviewed = isBroken ? plain : await reviewResults(answered, decisions, deps);
    for (const message of reviewed.messages) reportResult(message, deps);
    return { ...reviewed, halt: decisions.halt ?? reviewed.halt, stop: turn.stop };
  } catch (error) {
    // The abort came while extensions or guardrails looked at the results. The calls were made, so their results are kept.
    if (ctx.signal.aborted) return { ...plain, stop: cancellationOf(ctx.signal) };
    throw error;
  }
}

function reportHire({ agent, input: task }: HireLeaf, { ctx, report }: TurnDeps): void {
  const to = agent.id;
  report({ type: "handoff", to, task });
  if (ctx.hooks.has(HookEvent.HANDOFF))
    void ctx.hooks.dispatch(HookEvent.HANDOFF, { ...hookBase(ctx), to, task });
}

function reportResult(message: ToolMessage, { report }: TurnDeps): void {
  const { toolCallId: callId, name, content, isError = false } = message;
  report({ type: "toolResult", callId, name, content, isError });
}
