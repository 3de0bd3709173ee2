import {
  type CallOptions,
  InvalidValueError,
  type LLMClient,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  systemClock,
} from "@ravi/kernel";
import {
  answerReader,
  headerSecrets,
  onceEach,
  type ProviderCall,
  scrubber,
  startCall,
} from "@ravi/kernel/provider";
import { connect, type Connection } from "./wire/connection.ts";
import { explain } from "./failure/provider-error.ts";
import { checkOptions, type OpenAIOptions } from "./options.ts";
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

  const begin = (callOptions: CallOptions | undefined): ProviderCall =>
    startCall(callOptions, {
      provider,
      model,
      idleTimeoutMs: limits.idleTimeoutMs,
      clock,
      timers: globalThis,
    });

  /** If the call was cancelled or timed out, that is the error, whatever else failed because of it. */
  const failure = (error: unknown, call: ProviderCall, headers?: Headers): Error =>
    call.stopped ??
    explain(error, {
      provider,
      model,
      headers,
      api: connected?.protocol.api ?? "chat",
      scrub: connected?.scrub ?? scrubber([options.apiKey, ...headerSecrets(options.headers)]),
      now: clock.now(),
    });

  return Object.freeze({
    id,
    info,

    async generate(request: ModelRequest, callOptions?: CallOptions) {
      const call = begin(callOptions);
      const idempotencyKey = callOptions?.idempotencyKey;
      let headers: Headers | undefined;
      try {
        const { protocol, isCompatible } = connection();
        // OpenAI's models may think for longer than a silent connection stays open. The answer would be paid for and lost.
        const stream = protocol.api === "responses" && !isCompatible;
        const response = await send(call, request, { stream, idempotencyKey });
        ({ headers } = response);
        const answer = protocol.collect(provider);
        const next = answerReader({ response, call, limits, answer, timers: globalThis });
        while ((await next()) !== undefined) {
          // The answer collects what counts.
        }
        return answer.response();
      } catch (error) {
        throw failure(error, call, headers);
      } finally {
        call.close();
      }
    },

    async *stream(request: ModelRequest, callOptions?: CallOptions): AsyncGenerator<ModelEvent, void> {
      const call = begin(callOptions);
      const idempotencyKey = callOptions?.idempotencyKey;
      let headers: Headers | undefined;
      try {
        const response = await send(call, request, { stream: true, idempotencyKey });
        ({ headers } = response);
        const answer = connection().protocol.collect(provider);
        const next = answerReader({ response, call, limits, answer, timers: globalThis });
        for (let events = await next(); events !== undefined; events = await next())
          for (const event of events) yield event;
        for (const event of answer.finish()) yield event;
      } catch (error) {
        throw failure(error, call, headers);
      } finally {
        call.close();
      }
    },
  });
}
