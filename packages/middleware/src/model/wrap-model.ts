import {
  type CallOptions,
  type ChatContext,
  type Clock,
  type Gate,
  type Hooks,
  type JsonValue,
  type Layer,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  type Pipeline,
  AgentId,
  checkFields,
  isPromiseLike,
  MiddlewareError,
  NO_HOOKS,
  systemClock,
} from "@ravi/kernel";
import {
  answerEvents,
  answerMisfit,
  checkFunction,
  checkModel,
  checkPorts,
  guardedHooks,
  hasMethod,
} from "@ravi/kernel/loop";
import { checkText } from "../common/options.ts";
import { MiddlewarePipeline } from "../pipeline.ts";
import { ChatCall } from "./call/chat-call.ts";
import { eventChannel } from "./call/event-channel.ts";

export interface WrapModelOptions {
  /** The caller's name in hooks and traces. Default: the model's id, with `/` replaced by `:`. */
  readonly agentName?: string | undefined;
  readonly tenantId?: string | undefined;
  readonly hooks?: Hooks | undefined;
  /** Default: the system's time. */
  readonly clock?: Clock | undefined;
  /**
   * Answers what a layer's `admit` asks for (an approval, for example). Without it such a layer fails, because nothing can wait
   * durably here.
   */
  readonly answer?: Gate["require"] | undefined;
}

/** Puts layers around a model, for use without an agent. Returns an `LLMClient` with `generate` and `stream`. */
export function wrapModel(
  client: LLMClient,
  layers: readonly Layer<ChatContext>[] | Pipeline<ChatContext>,
  options: WrapModelOptions = {},
): LLMClient {
  checkFields("wrapModel", options, ["agentName", "tenantId", "hooks", "clock", "answer"]);
  checkModel("wrapModel.client", client);
  checkFunction("wrapModel.answer", options.answer);
  checkText("wrapModel.tenantId", options.tenantId);
  checkPorts("wrapModel", { hooks: options.hooks, clock: options.clock });
  const pipeline = isPipeline(layers)
    ? layers
    : new MiddlewarePipeline<ChatContext>(layers, { level: "chat" });
  const agentName = options.agentName ?? client.id.replaceAll("/", ":");
  AgentId(agentName);
  const answer = options.answer ?? refuseToWait;
  const hooks = guardedHooks(options.hooks ?? NO_HOOKS);
  const gate: Gate = {
    require(name, question, tell) {
      // Nothing is recorded here, so the question is always new.
      tell?.();
      return answer(name, question);
    },
  };
  const begin = (request: ModelRequest, callOptions: CallOptions = {}): ChatCall =>
    new ChatCall({
      client,
      request,
      options: callOptions,
      agentName,
      tenantId: options.tenantId,
      hooks,
      clock: options.clock ?? systemClock,
    });

  const drive = async (call: ChatCall, core: () => Promise<void>): Promise<ModelResponse> => {
    const { context } = call;
    context.meta.check();
    const admitted = pipeline.admit(context, gate);
    if (isPromiseLike(admitted)) await admitted;
    if (context.result === undefined) await pipeline.run(context, core);
    if (context.result === undefined) {
      const problem =
        "there is no answer: a layer neither called next() nor set context.result, or it caught an error and set no result";
      throw new MiddlewareError({ layer: "wrapModel", problem });
    }
    const misfit = answerMisfit(context.result);
    if (misfit === undefined) return context.result;
    throw new MiddlewareError({ layer: "wrapModel", problem: `a layer set ${misfit}` });
  };

  return {
    id: client.id,
    info: client.info,
    async generate(request, callOptions) {
      const call = begin(request, callOptions);
      try {
        return await drive(call, () => call.generate());
      } finally {
        call.dispose();
      }
    },
    stream: (request, callOptions) => ({
      [Symbol.asyncIterator]: () => readStream(begin(request, callOptions), drive),
    }),
  };
}

function isPipeline(
  layers: readonly Layer<ChatContext>[] | Pipeline<ChatContext>,
): layers is Pipeline<ChatContext> {
  return hasMethod(layers, "run");
}

/** The call begins with the first read. A reader that stops early cancels the call. */
function readStream(
  call: ChatCall,
  drive: (call: ChatCall, core: () => Promise<void>) => Promise<ModelResponse>,
): AsyncIterator<ModelEvent, undefined> {
  const channel = eventChannel();
  let isStarted = false;
  const run = async (): Promise<void> => {
    try {
      const response = await drive(call, () => call.stream((event) => channel.push(event)));
      // From a cache, or held back for a judge.
      if (!call.hasStreamed) for (const event of answerEvents(response)) await channel.push(event);
      await channel.push({ type: "finish", response });
      channel.close();
    } catch (error) {
      channel.fail(error);
    } finally {
      call.dispose();
    }
  };
  return {
    next() {
      if (!isStarted) {
        isStarted = true;
        void run();
      }
      return channel.next();
    },
    async return() {
      channel.drop();
      if (isStarted) call.cancel("the reader of the stream stopped reading");
      else call.dispose();
      isStarted = true;
      return { done: true, value: undefined };
    },
  };
}

function refuseToWait(name: string): Promise<JsonValue> {
  const problem = `a layer asks for ${name}, but a model that is used without an agent cannot wait for it; pass the \`answer\` option to wrapModel`;
  return Promise.reject(new MiddlewareError({ layer: "wrapModel", problem }));
}
