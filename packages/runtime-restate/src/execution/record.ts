import {
  addUsage,
  type AgentEvent,
  AgentId,
  agentName,
  type Effect,
  type HireOutcome,
  type HireSpec,
  type JsonObject,
  type ModelResponse,
  NO_USAGE,
  type SerializedError,
  type ToolResult,
  type WaitSpec,
  errorToJSON,
} from "@ravi/kernel";
import { addCost, answerDeltas, answerMisfit, listedQuestion } from "@ravi/kernel/loop";
import type { Paid } from "./account.ts";

// What is told of a run afterwards. All of it comes from the journal, so that a replay tells the same, under the same numbers.

/** What one call was: the answer of a model as whole texts, or the result of a tool, and what it has used. */
export function eventsOfCall(effect: Effect, body: JsonObject, paid: readonly Paid[]): AgentEvent[] {
  return effect.kind === "llm" ? eventsOfModel(effect, body, paid) : eventsOfTool(effect, body, paid);
}

function eventsOfModel({ isQuiet }: Effect, body: JsonObject, paid: readonly Paid[]): AgentEvent[] {
  const given = body["response"] as ModelResponse | undefined;
  // The answer to a call that was given up is recorded for its cost, whatever it is.
  const response = answerMisfit(given) === undefined ? given : undefined;
  const said = response === undefined ? [] : answerDeltas(response, undefined);
  return [
    ...said.map(({ type, delta }): AgentEvent =>
      isQuiet === true ? { type: "progress", name: "quietAnswer", data: { [type]: delta } } : { type, delta },
    ),
    ...usageOf(paid),
    ...errorIn(body),
    ...(response?.message.toolCalls ?? []).map((call): AgentEvent => ({ type: "toolCall", call })),
  ];
}

function eventsOfTool({ key, call }: Effect, body: JsonObject, paid: readonly Paid[]): AgentEvent[] {
  // Of the models that it has called.
  const usage = usageOf(paid.filter(({ toolCalls }) => toolCalls === undefined));
  const { content, isError } = body as Partial<ToolResult>;
  if (content === undefined) return [...usage, ...errorIn(body)];
  const { id: callId = key, name = key } = call ?? {};
  return [...usage, { type: "toolResult", callId, name, content, isError: isError === true }];
}

function usageOf(paid: readonly Paid[]): AgentEvent[] {
  if (paid.length === 0) return [];
  const usage = paid.reduce((sum, each) => addUsage(sum, each.usage), NO_USAGE);
  const costUsd = paid.reduce<number | null>((sum, each) => addCost(sum, each.costUsd), 0);
  return [{ type: "usage", usage, costUsd }];
}

function errorIn(body: JsonObject): AgentEvent[] {
  const error = body["error"];
  return error === undefined ? [] : [{ type: "error", error: error as SerializedError }];
}

/** That somebody is asked for an approval; undefined if the wait is for something else. */
export function eventOfWait({ name, question }: WaitSpec): AgentEvent | undefined {
  if (question === undefined) return undefined;
  const listed = listedQuestion(question) ?? null;
  const { callId } = (listed ?? {}) as JsonObject;
  const event = { type: "progress", name: "approvalRequested", data: { name, question: listed } } as const;
  return typeof callId === "string" ? { ...event, callId } : event;
}

export function eventOfHire({ agentId, input }: Pick<HireSpec, "agentId" | "input">): AgentEvent {
  return { type: "handoff", to: AgentId(agentName(agentId)), task: input };
}

/** The end of an execution. */
export function eventOfEnd(outcome: HireOutcome): AgentEvent | undefined {
  if ("result" in outcome) {
    const { status, output, stopReason, structured, problem } = outcome.result;
    const more = {
      ...(structured !== undefined && { structured }),
      ...(problem !== undefined && { problem }),
    };
    return { type: "completed", result: { status, output, stopReason, ...more } };
  }
  return "error" in outcome ? { type: "error", error: errorToJSON(outcome.error) } : undefined;
}
