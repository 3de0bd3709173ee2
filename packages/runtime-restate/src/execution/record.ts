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
  type RecordedCall,
  type SerializedError,
  type ToolResult,
  type Usage,
  type WaitSpec,
  errorToJSON,
} from "@ravi/kernel";
import { addCost, answerDeltas, answerMisfit, listedQuestion } from "@ravi/kernel/loop";
import type { Paid } from "./account.ts";
import type { Recorded } from "./payment.ts";

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

/** A call that has ended, as it is in the record. */
export type CallEntry = JsonObject & Omit<RecordedCall, "execId"> & { readonly type: "call" };

export function entryOfCall(
  effect: Effect,
  body: JsonObject,
  { at: endedAt, startedAt = endedAt, paid }: Pick<Recorded, "at" | "startedAt" | "paid">,
): CallEntry {
  const { key, kind } = effect;
  const call = { type: "call", key, kind, name: nameOf(effect, body), startedAt, endedAt } as const;
  if (kind === "llm") {
    const { usage = NO_USAGE, costUsd = 0 } = sumOf(paid) ?? {};
    return { ...call, status: body["response"] === undefined ? "error" : "ok", usage, costUsd };
  }
  const isError = body["isError"] === true || body["error"] !== undefined;
  return { ...call, status: isError ? "error" : "ok" };
}

const MODEL = /^[a-z]+:(?<model>.*)#\d+$/s;

/** What is called: the tool, or the model that has answered, as hooks name it. */
export function nameOf({ key, call }: Effect, body: JsonObject = {}): string {
  if (call !== undefined) return call.name;
  const substitute = body["sentTo"] as { readonly provider: string; readonly model: string } | undefined;
  if (substitute !== undefined) return `${substitute.provider}:${substitute.model}`;
  return MODEL.exec(key)?.groups?.["model"]?.replace("/", ":") ?? key;
}

function usageOf(paid: readonly Paid[]): AgentEvent[] {
  const sum = sumOf(paid);
  return sum === undefined ? [] : [{ type: "usage", ...sum }];
}

/** Undefined if nothing was paid. */
function sumOf(paid: readonly Paid[]): { usage: Usage; costUsd: number | null } | undefined {
  if (paid.length === 0) return undefined;
  const usage = paid.reduce((sum, each) => addUsage(sum, each.usage), NO_USAGE);
  return { usage, costUsd: paid.reduce<number | null>((sum, each) => addCost(sum, each.costUsd), 0) };
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
