import {
  callWantsApproval,
  type MaybePromise,
  type Tool,
  type ToolResult,
  wantsApproval,
  type Gate,
} from "@ravi/kernel";
import { argumentsText, isUnset, type Parsed, readArguments, toolFailure } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { askApproval } from "./approval.ts";
import type { Execution } from "./execution.ts";
import { FunctionCall } from "./function-call.ts";
import { layersResult } from "./layer-result.ts";
import { admitOne } from "./one-call.ts";
import { denialOf } from "./permission.ts";
import { admitBy, mayAdmit } from "./plan.ts";
import { type RequestedTool, ToolEffect } from "./tool-effect.ts";

/**
 * Makes one tool call of an agent. Invalid arguments, a denial and a failing tool are results for the model; only a rule, such as a budget
 * or a cancellation, throws.
 */
export function callTool(exec: Execution, requested: RequestedTool, key: string): MaybePromise<ToolResult> {
  const admit = (gate?: Gate): MaybePromise<ToolEffect> => prepareToolCall(exec, requested, key, gate);
  const prepared = mayAsk(exec, requested.tool) ? admitOne(exec, key, admit, requested) : admit();
  return andThen(prepared, (call) => call.refused ?? exec.engine.effect(call));
}

/** Whether a layer or a person may be asked before the call begins. */
export function mayAsk({ plan }: Execution, tool: Tool): boolean {
  return wantsApproval(tool) || mayAdmit(plan.function);
}

/**
 * Does everything that can refuse a call before it begins: checks its arguments, permission, layers and approval. It runs again in a
 * replay, which gets the answers of the gate from the record. The gate is for layers and approvals, and may be undefined if there are none.
 */
export function prepareToolCall(
  exec: Execution,
  requested: RequestedTool,
  key: string,
  gate: Gate | undefined,
): MaybePromise<ToolEffect> {
  const parsed = readArguments(requested.call, requested.tool, requested.validator ?? exec.ports.validator);
  return andThen(parsed, afterParsing, new ToolEffect(exec, key, requested), gate);
}

function afterParsing(
  parsed: Parsed<unknown>,
  call: ToolEffect,
  gate: Gate | undefined,
): MaybePromise<ToolEffect> {
  if (!parsed.ok) return refusedWith(toolFailure(parsed.problem), call);
  call.args = parsed.value;
  const { exec, tool } = call;
  return andThen(denialOf(exec, "tool", tool.name, argumentsText(call.call)), unlessDenied, call, gate);
}

function unlessDenied(
  denied: string | undefined,
  call: ToolEffect,
  gate: Gate | undefined,
): MaybePromise<ToolEffect> {
  if (denied !== undefined) return refusedWith(toolFailure(denied), call);
  if (call.exec.plan.function !== undefined) call.context = new FunctionCall(call.exec, call, call.args);
  return gate === undefined ? call : andThen(askBoth(call, gate), refusedWith, call);
}

function refusedWith(refused: ToolResult | undefined, call: ToolEffect): ToolEffect {
  call.refused = refused;
  return call;
}

/**
 * Asks the layers, then the person who has to approve the call. Returns the result that stands in for the call; undefined if it may be
 * made.
 */
function askBoth(call: ToolEffect, gate: Gate): MaybePromise<ToolResult | undefined> {
  const { exec, context, tool } = call;
  const approve = (): MaybePromise<ToolResult | undefined> => {
    if (callWantsApproval(tool, context === undefined ? call.args : context.arguments))
      return askApproval(exec, call, gate);
    if (context !== undefined) context.isUnasked = true;
    return undefined;
  };
  const layers = exec.plan.function;
  if (layers === undefined || context === undefined) return approve();
  return andThen(admitBy(layers, context, gate), () =>
    isUnset(context.result) ? approve() : layersResult(context),
  );
}
