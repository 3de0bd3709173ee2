import {
  type AbortSignalLike,
  type AssistantMessage,
  type CallOptions,
  cancellationOf,
  checkBoolean,
  checkFields,
  checkInteger,
  type Clock,
  isPromiseLike,
  type LLMClient,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  type ModelResponse,
  systemClock,
} from "@ravi/kernel";
import { abortable, checkModel, checkPorts, checkText, sleep, withTimers } from "@ravi/kernel/loop";
import { DEFAULT_CHUNK_SIZE, deltasOf } from "./answers/deltas.ts";
import { deltasBefore, errorOfFault, hangsAtOnce } from "./answers/fault.ts";
import { type Plan, planAnswer } from "./answers/plan.ts";
import { compileScript, type Script } from "./answers/script.ts";

/** The options of `scriptedModel`. */
export interface ScriptedModelOptions {
  /** Default: `provider/model`. */
  readonly id?: string | undefined;
  /** Default: provider and model are both `scripted`. */
  readonly info?: Partial<ModelInfo> | undefined;
  /** The source of delays. Default: real timers. */
  readonly clock?: Clock | undefined;
  /** The characters in each piece of a stream. Default: 8. */
  readonly chunkSize?: number | undefined;
  /** `false`: calls are neither copied nor kept, for benchmarks. Default: true. */
  readonly record?: boolean | undefined;
}

const OPTIONS = [
  "id",
  "info",
  "clock",
  "chunkSize",
  "record",
] as const satisfies readonly (keyof ScriptedModelOptions)[];

const OWNER = "scriptedModel options";
const INFO_FIELDS = [
  "provider",
  "model",
  "contextWindow",
  "maxOutputTokens",
  "cacheTtl",
] as const satisfies readonly (keyof ModelInfo)[];

/** A call that a scripted model has received. */
export interface RecordedCall {
  /** Counts from 0, in the order in which the calls were made. */
  readonly index: number;
  readonly mode: "generate" | "stream";
  /** A copy from the time of the call, through JSON, since the list of messages may grow afterwards. */
  readonly request: ModelRequest;
  readonly idempotencyKey: string | undefined;
}

/** An `LLMClient` that answers from a script. */
export interface ScriptedModel extends LLMClient {
  /** The calls so far. Empty with `record: false`. */
  readonly calls: readonly RecordedCall[];
  stream(request: ModelRequest, options?: CallOptions): AsyncIterable<ModelEvent>;
}

/**
 * Creates a model that answers from a script, without a network. A call that the script has no answer for throws an
 * `InvalidValueError` that shows the request.
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  checkFields(OWNER, options, OPTIONS);
  checkPorts(OWNER, { clock: options.clock });
  if (options.info !== undefined) checkFields(`${OWNER}.info`, options.info, INFO_FIELDS);
  const answerTo = compileScript(script);
  const info: ModelInfo = { provider: "scripted", model: "scripted", ...options.info };
  const { id = `${info.provider}/${info.model}` } = options;
  checkText(`${OWNER}.id`, id);
  const clock = withTimers(options.clock ?? systemClock, globalThis);
  const chunkSize = checkInteger("chunkSize", options.chunkSize ?? DEFAULT_CHUNK_SIZE, 1);
  const record = checkBoolean(`${OWNER}.record`, options.record ?? true);
  const calls: RecordedCall[] = [];
  let made = 0;

  /** Numbers and records the call. One that was cancelled before it began does not count. */
  const begin = (
    mode: RecordedCall["mode"],
    request: ModelRequest,
    call: CallOptions | undefined,
  ): number => {
    if (call?.signal?.aborted === true) return made;
    const index = made++;
    if (record) calls.push({ index, mode, request: copy(request), idempotencyKey: call?.idempotencyKey });
    return index;
  };

  /** What happens before the first byte: the script, the delay, and faults that let nothing through. */
  const prepare = async (
    index: number,
    request: ModelRequest,
    signal: AbortSignalLike | undefined,
  ): Promise<Plan> => {
    if (signal?.aborted === true) throw cancellationOf(signal);
    const answer = answerTo(request, index, index);
    const plan = planAnswer(isPromiseLike(answer) ? await abortable(answer, signal) : answer, request);
    if (plan.delayMs > 0) await sleep(clock, plan.delayMs, signal);
    if (hangsAtOnce(plan.fault)) await sleep(clock, Infinity, signal);
    if (plan.error !== undefined) throw plan.error;
    if (plan.fault?.type === "status" || plan.fault?.type === "malformed") {
      throw errorOfFault(plan.fault, info, clock.now());
    }
    return plan;
  };

  async function* streamPlan(
    index: number,
    request: ModelRequest,
    signal: AbortSignalLike | undefined,
  ): AsyncGenerator<ModelEvent, void, undefined> {
    const plan = await prepare(index, request, signal);
    let left = deltasBefore(plan.fault);
    for (const delta of deltasOf(plan, chunkSize)) {
      if (left-- === 0) break;
      if (plan.chunkDelayMs > 0) await sleep(clock, plan.chunkDelayMs, signal);
      if (signal?.aborted === true) throw cancellationOf(signal);
      yield delta;
    }
    if (plan.fault?.type === "hang") await sleep(clock, Infinity, signal);
    if (plan.fault?.type === "cut") throw errorOfFault(plan.fault, info, clock.now());
    if (plan.fault?.type === "unfinished") return;
    if (signal?.aborted === true) throw cancellationOf(signal);
    yield { type: "finish", response: responseOf(plan, index) };
  }

  const model: ScriptedModel = {
    id,
    info,
    calls,
    async generate(request, call) {
      const index = begin("generate", request, call);
      const plan = await prepare(index, request, call?.signal);
      if (plan.fault?.type === "hang") await sleep(clock, Infinity, call?.signal);
      else if (plan.fault !== undefined) throw errorOfFault(plan.fault, info, clock.now());
      return responseOf(plan, index);
    },
    stream(request, call) {
      return streamPlan(begin("stream", request, call), request, call?.signal);
    },
  };
  checkModel(OWNER, model);
  return model;
}

function responseOf(plan: Plan, index: number): ModelResponse {
  const { text, reasoning, toolCalls, finishReason } = plan;
  const content: AssistantMessage["content"] =
    reasoning === ""
      ? text
      : [
          { type: "reasoning", text: reasoning },
          { type: "text", text },
        ];
  return {
    message: { role: "assistant", content, ...(toolCalls.length > 0 ? { toolCalls } : {}) },
    finishReason,
    ...(plan.saysUsage ? { usage: plan.usage } : {}),
    ...(plan.model === undefined ? {} : { model: plan.model }),
    id: plan.id ?? `scripted-${index}`,
  };
}

/** Through JSON, as a provider would send it. `structuredClone` would fail on a proxy or on functions in the request. */
function copy(request: ModelRequest): ModelRequest {
  return JSON.parse(JSON.stringify(request)) as ModelRequest;
}
