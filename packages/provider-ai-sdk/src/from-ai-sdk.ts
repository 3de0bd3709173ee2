import {
  type CallOptions,
  isCancellation,
  isPromiseLike,
  type LLMClient,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  systemClock,
} from "@ravi/kernel";
import {
  checkRequest,
  field,
  headerSecrets,
  onceEach,
  type ProviderCall,
  scrubber,
  startCall,
  UnusableAnswer,
} from "@ravi/kernel/provider";
import { type AnswerCollector, collectAnswer } from "./answer/collect.ts";
import { explain } from "./failure/explain.ts";
import type { AiSdkCallOptions, AiSdkModel, AiSdkReader } from "./model.ts";
import { type AiSdkOptions, checkModel, checkOptions } from "./options.ts";
import { callOptions } from "./request/call-options.ts";
import type { SentFiles } from "./request/files.ts";
import { tagOf } from "./request/provider-metadata.ts";
import { logWarnings } from "./warnings.ts";

/**
 * Makes a language model of the AI SDK usable as a model of Ravi. Each call sends one request with `doGenerate` or `doStream`, without
 * the retries, downloads and tool loops of the AI SDK's own functions. Throws an `InvalidValueError` if the model or an option is
 * wrong.
 */
export function fromAiSdk(model: AiSdkModel, options: AiSdkOptions = {}): LLMClient {
  checkModel(model);
  const { idleTimeoutMs } = checkOptions(options);
  const { clock = systemClock, logger, contextWindow, maxOutputTokens } = options;
  const provider = options.provider ?? model.provider.split(".", 1)[0] ?? model.provider;
  const info: ModelInfo = Object.freeze({
    provider,
    model: model.modelId,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
  const who = { provider, model: model.modelId };
  const scrub = scrubber([...(options.secrets ?? []), ...headerSecrets(options.headers)]);
  const notice = onceEach(logger, info);

  const begin = (given: CallOptions | undefined): ProviderCall =>
    startCall(given, { ...who, idleTimeoutMs, clock, timers: globalThis });

  const prepare = async (
    request: ModelRequest,
    call: ProviderCall,
    given: CallOptions | undefined,
    files: SentFiles,
  ): Promise<AiSdkCallOptions> => {
    if (call.stopped !== undefined) throw call.stopped;
    checkRequest(request);
    const urls = model.supportedUrls ?? {};
    const supportedUrls = isPromiseLike(urls) ? await call.wait(urls) : urls;
    const target = {
      version: model.specificationVersion,
      files,
      supportedUrls,
      tag: tagOf(model.provider),
      modelId: model.modelId,
      systemAnywhere: options.systemAnywhere ?? /^(?:openai|azure)\b/.test(model.provider),
      takesToolFiles: !model.provider.endsWith(".chat"),
      headers: options.headers,
      providerOptions: options.providerOptions,
      notice,
    };
    return { ...callOptions(request, target, given?.idempotencyKey), abortSignal: call.signal };
  };

  /** Calls the model. If the provider refuses a file, which it does before anything is sent, it is called again without. */
  const ask = async <T>(
    request: ModelRequest,
    call: ProviderCall,
    given: CallOptions | undefined,
    run: (options: AiSdkCallOptions) => PromiseLike<T>,
  ): Promise<T> => {
    let refusal: unknown;
    for (const files of ["all", "images", "none"] as const) {
      const prepared = await prepare(request, call, given, files);
      try {
        return await call.wait(run(prepared));
      } catch (error) {
        if (field(error, "name") !== "AI_UnsupportedFunctionalityError" || !hasFiles(request)) throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  };

  /** If the call was cancelled or timed out, that is the error, whatever else failed because of it. */
  const failure = (error: unknown, call: ProviderCall): Error =>
    call.stopped ?? explain(error, { ...who, scrub, now: clock.now() });

  return Object.freeze({
    id: `${provider}/${model.modelId}`,
    info,

    async generate(request: ModelRequest, given?: CallOptions) {
      const call = begin(given);
      try {
        const result = await ask(request, call, given, (prepared) => model.doGenerate(prepared));
        logWarnings(notice, field(result, "warnings"));
        const answer = collectAnswer(model, request.tools);
        answer.addWhole(result);
        checkEnding(answer);
        call.complete();
        return answer.response();
      } catch (error) {
        throw failure(error, call);
      } finally {
        call.close();
      }
    },

    async *stream(request: ModelRequest, given?: CallOptions): AsyncGenerator<ModelEvent, void> {
      const call = begin(given);
      let opened: PromiseLike<AiSdkReader> | undefined;
      try {
        const reader = await ask(request, call, given, (prepared) => {
          opened = model.doStream(prepared).then(({ stream }) => stream.getReader());
          return opened;
        });
        const answer = collectAnswer(model, request.tools);
        while (answer.ending() === undefined) {
          const { done, value } = await call.wait(reader.read());
          if (done) break;
          const type = field(value, "type");
          if (type === "error") throw field(value, "error");
          if (type === "stream-start") logWarnings(notice, field(value, "warnings"));
          for (const event of answer.add(value)) {
            yield event;
            if (isCancellation(call.stopped)) throw call.stopped;
          }
        }
        checkEnding(answer, "streamed");
        call.complete();
        yield { type: "finish", response: answer.response() };
      } catch (error) {
        throw failure(error, call);
      } finally {
        call.close();
        leave(opened);
      }
    },
  });
}

function hasFiles({ messages }: ModelRequest): boolean {
  return messages.some(
    ({ content }) =>
      typeof content !== "string" && content.some(({ type }) => type === "image" || type === "file"),
  );
}

/** Throws if the answer was cut off: a partial answer must not pass for a complete one. */
function checkEnding(answer: AnswerCollector, streamed?: "streamed"): void {
  const ending = answer.ending();
  if (ending === undefined || (streamed !== undefined && !ending.isSaid)) {
    throw new UnusableAnswer("the answer ended before the model finished");
  }
  if (ending.reason === "error") throw new UnusableAnswer("the model stopped because of an error");
}

/**
 * Cancels the stream, even one that opens only after the call was given up. Not awaited, and errors are ignored: the call has its
 * result.
 */
function leave(opened: PromiseLike<AiSdkReader> | undefined): void {
  opened?.then((reader) => reader.cancel()).then(undefined, () => undefined);
}
