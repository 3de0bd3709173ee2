import {
  type CallOptions,
  InvalidValueError,
  isCancellation,
  type LLMClient,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  type ModelResponse,
  ProviderError,
  systemClock,
} from "@ravi/kernel";
import { answerReader, headerSecrets, onceEach, scrubber, startCall } from "@ravi/kernel/provider";
import { connect, type Connection } from "./wire/connection.ts";
import { explain } from "./failure/provider-error.ts";
import { checkOptions, type OpenAIOptions } from "./options.ts";
import type { Answer } from "./wire/protocol.ts";
import { makeSender } from "./wire/send.ts";

/**
 * A model of OpenAI over the Responses API, or of any compatible server over Chat Completions, with the official client. Throws an
 * `InvalidValueError` if an option is wrong.
 *
 * A request is sent once; retrying is up to a layer around the model. There is one exception, which costs nothing: if the server
 * refuses a request because it does not support some optional parameter, it is sent again without that parameter, and all later
 * requests leave it out from the start.
 */
export function openai(model: string, options: OpenAIOptions = {}): LLMClient {
  if (typeof model !== "string" || model === "") {
    throw new InvalidValueError({ field: "model", value: model, expected: "the name of a model" });
  }
  const limits = checkOptions(options);
  const { provider = "openai", clock = systemClock, contextWindow, maxOutputTokens } = options;
  const id = `${provider}/${model}`;
  const info: ModelInfo = Object.freeze({
    provider,
    model,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
  let connected: Connection | undefined;
  const connection = (): Connection => (connected ??= connect(options));
  const send = makeSender({ model, provider, connection, notice: onceEach(options.logger, info) });

  async function* run(
    request: ModelRequest,
    callOptions: CallOptions | undefined,
    isStreamed: boolean,
  ): AsyncGenerator<ModelEvent, void> {
    const call = startCall(callOptions, {
      provider,
      model,
      idleTimeoutMs: limits.idleTimeoutMs,
      clock,
      timers: globalThis,
    });
    let headers: Headers | undefined;
    let answer: Answer | undefined;
    try {
      const idempotencyKey = callOptions?.idempotencyKey;
      const response = await send(call, request, { isStreamed, idempotencyKey });
      ({ headers } = response);
      answer = connection().protocol.collect(provider);
      const next = answerReader({ response, call, limits, answer, timers: globalThis });
      for (let events = await next(); events !== undefined; events = await next())
        for (const event of events) {
          yield event;
          if (isCancellation(call.stopped)) throw call.stopped;
        }
      for (const event of answer.finish()) {
        yield event;
        if (event.type !== "finish" && isCancellation(call.stopped)) throw call.stopped;
      }
    } catch (error) {
      // If the call was cancelled or timed out, that is the error, whatever else failed because of it.
      if (call.stopped !== undefined) throw call.stopped;
      throw explain(error, {
        provider,
        model,
        headers,
        api: connected?.protocol.api ?? "chat",
        hasWorked: answer?.hasWorked() === true,
        scrub: connected?.scrub ?? scrubber([options.apiKey, ...headerSecrets(options.headers)]),
        now: clock.now(),
      });
    } finally {
      call.close();
    }
  }

  return Object.freeze({
    id,
    info,
    async generate(request: ModelRequest, callOptions?: CallOptions): Promise<ModelResponse> {
      for await (const event of run(request, callOptions, false))
        if (event.type === "finish") return event.response;
      // `run` ends with `finish` or throws.
      throw new ProviderError({ kind: "UNKNOWN", provider, model, message: "the answer has no end" });
    },
    stream: (request: ModelRequest, callOptions?: CallOptions) => run(request, callOptions, true),
  });
}
