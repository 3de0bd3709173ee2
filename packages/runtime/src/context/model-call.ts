import {
  type LlmLeaf,
  type MaybePromise,
  MiddlewareTermination,
  type ModelResponse,
  type Gate,
} from "@ravi/kernel";
import { isUnset } from "@ravi/kernel/loop";
import { andThen } from "../promises/and-then.ts";
import { ChatCall } from "./chat-call.ts";
import type { Execution } from "./execution.ts";
import { layersAnswer } from "./layer-result.ts";
import { ModelEffect } from "./model-effect.ts";
import { admitOne } from "./one-call.ts";
import { denialOf } from "./permission.ts";
import { admitBy, mayAdmit } from "./plan.ts";
import { tellAnswer } from "./stream-out.ts";

/** Makes one model call of an agent: first the `admit` of its layers, then the recorded effect, with its hooks around it. */
export function callModel(exec: Execution, leaf: LlmLeaf, key: string): MaybePromise<ModelResponse> {
  const call = mayAdmit(exec.plan.chat)
    ? admitModelCall(exec, leaf, key)
    : prepareModelCall(exec, leaf, key, undefined);
  return andThen(call, makeUnlessRefused, exec);
}

function admitModelCall(exec: Execution, leaf: LlmLeaf, key: string): MaybePromise<ModelEffect> {
  return admitOne(exec, key, (gate?: Gate) => prepareModelCall(exec, leaf, key, gate));
}

function makeUnlessRefused(call: ModelEffect, { engine }: Execution): MaybePromise<ModelResponse> {
  return call.refused ?? engine.effect(call);
}

/**
 * Does everything that can refuse a call before it begins: checks its permission and asks the layers. Throws a `MiddlewareTermination` if
 * it is not permitted. The gate is for the layers, and may be undefined if none of them has an `admit`.
 */
export function prepareModelCall(
  exec: Execution,
  leaf: LlmLeaf,
  key: string,
  gate: Gate | undefined,
): MaybePromise<ModelEffect> {
  exec.modelCalls++;
  const call = new ModelEffect(exec, key, leaf);
  return andThen(denialOf(exec, "llm", leaf.model.id), unlessDenied, call, gate);
}

function unlessDenied(
  denied: string | undefined,
  call: ModelEffect,
  gate: Gate | undefined,
): MaybePromise<ModelEffect> {
  if (denied !== undefined) throw new MiddlewareTermination({ layer: "permissions", reason: denied });
  const { chat } = call.exec.plan;
  if (chat === undefined) return call;
  call.context = new ChatCall(call.exec, call);
  return gate === undefined ? call : andThen(admitBy(chat, call.context, gate), answered, call);
}

function answered(_: void, call: ModelEffect): ModelEffect {
  const { context } = call;
  if (context === undefined || isUnset(context.result)) return call;
  call.refused = layersAnswer(context);
  tellAnswer(call, call.refused);
  return call;
}
