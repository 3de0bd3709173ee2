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
import {
  answerReader,
  checkRequest,
  correctedKey,
  headerSecrets,
  headerText,
  MAX_CORRECTIONS,
  onceEach,
  type ProviderCall,
  scrubber,
  startCall,
  wellFormedJson,
} from "@ravi/kernel/provider";
import { collectAnswer } from "./answer/answer.ts";
import { connect, type Connection } from "./connection.ts";
import { explain } from "./failure/explain.ts";
import { knownModel } from "./models.ts";
import { type AnthropicOptions, checkOptions } from "./options.ts";
import { type Body, prepare, type Prepared } from "./request/body.ts";
import {
  corrected,
  type Correction,
  correctionOf,
  isNotForced,
  isUnfitShape,
  unreadableOf,
} from "./request/corrections.ts";

/** In tokens. A longer answer may take longer than a silent connection stays open, so it is streamed even if nobody listens. */
const LONGEST_WHOLE = 8_192;

/** A limit to the memory used. What is forgotten is refused once more. */
const MAX_SEALS = 1_000;

function remember(known: Set<string>, seals: readonly string[]): void {
  if (known.size > MAX_SEALS) known.clear();
  for (const seal of seals) known.add(seal);
}

/**
 * A model of Anthropic, or of a server that speaks its Messages API, with the official client. Throws an `InvalidValueError` if an
 * option is wrong.
 *
 * A request is sent once; retrying is up to a layer around the model. There is one exception, which costs nothing: if the server
 * refuses a request because it does not support some optional parameter, it is sent again without that parameter, and all later
 * requests leave it out from the start.
 */
export function anthropic(model: string, options: AnthropicOptions = {}): LLMClient {
  if (typeof model !== "string" || model === "") {
    throw new InvalidValueError({ field: "model", value: model, expected: "the name of a model" });
  }
  const limits = checkOptions(options);
  const { provider = "anthropic", clock = systemClock } = options;
  const known = knownModel(model);
  const contextWindow = options.contextWindow ?? known.contextWindow;
  const info: ModelInfo = Object.freeze({
    provider,
    model,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    maxOutputTokens: limits.maxOutputTokens,
    ...(options.cache === "1h" ? { cacheTtl: options.cache } : {}),
  });
  const notice = onceEach(options.logger, info);
  const corrections = new Set<Correction>();
  /** Whether the server lets no tool be demanded, so that the one that gives the answer is only offered. */
  let refusesForce = false;
  /** The schemas, as JSON, that structured output does not support. */
  const unfitShapes = new Set<string>();
  /** The seals of thoughts and of tools' images that the server could not read. */
  const unreadable = new Set<string>();
  /** The seals of images that it has read, so that another one must be meant. */
  const readable = new Set<string>();
  let connection: Connection | undefined;

  const prepared = (request: ModelRequest, isOwn: boolean): Prepared => {
    const refusesFormat =
      corrections.has("output_config.format") ||
      corrections.has("output_config") ||
      (unfitShapes.size > 0 && unfitShapes.has(shapeOf(request)));
    const ready = prepare(request, {
      model,
      provider,
      isOwn,
      known,
      maxOutputTokens: limits.maxOutputTokens,
      options: { cache: options.cache, thinking: options.thinking, apiVersion: versionOf(options) },
      refusesFormat,
      refusesForce,
      unreadable,
      notice,
    });
    return { ...ready, body: corrected(ready.body, corrections) };
  };

  /** Remembers what the server refuses in a request, for it and all later ones. Throws the refusal on if nothing can be left out. */
  const learn = (error: unknown, request: ModelRequest, sent: Prepared): void => {
    const unread = unreadableOf(error);
    const seals = unread === undefined ? [] : sent[unread].filter((seal) => !readable.has(seal));
    const correction = correctionOf(error, sent.body);
    if (seals.length > 0) {
      remember(unreadable, seals);
      notice(`${unread} that the server cannot read are left out`);
    } else if (sent.outputTool !== undefined && isNotForced(error, sent.body)) {
      refusesForce = true;
      notice("the tool that gives the answer is not demanded: the server does not accept tool_choice");
    } else if (correction === undefined) {
      throw error;
    } else if (correction === "output_config.format" && request.output !== undefined && isUnfitShape(error)) {
      unfitShapes.add(shapeOf(request));
      notice("a schema of the answer is asked for by a tool: structured output does not support it");
    } else {
      corrections.add(correction);
      notice(`${correction} is left out: the server does not accept it`);
    }
  };

  const send = async (
    call: ProviderCall,
    request: ModelRequest,
    how: { readonly stream: boolean; readonly idempotencyKey: string | undefined },
  ): Promise<{ readonly response: Response; readonly outputTool: string | undefined }> => {
    if (call.stopped !== undefined) throw call.stopped;
    checkRequest(request);
    const { client, isOwn } = (connection ??= connect(options));
    const post = (body: Body, key: string | undefined): Promise<Response> =>
      call.wait(
        client
          .post("/v1/messages", {
            body: wellFormedJson(
              JSON.stringify(isStreamed(body, how.stream) ? { ...body, stream: true } : body),
            ),
            signal: call.signal,
            headers: {
              "content-type": "application/json",
              ...(key === undefined ? {} : { "idempotency-key": headerText(key) }),
            },
          })
          .asResponse(),
      );
    for (let attempt = 0; ; attempt++) {
      const sent = prepared(request, isOwn);
      try {
        const response = await post(sent.body, correctedKey(how.idempotencyKey, attempt));
        remember(readable, sent.images);
        return { response, outputTool: sent.outputTool };
      } catch (error) {
        if (call.stopped !== undefined || attempt === MAX_CORRECTIONS) throw error;
        learn(error, request, sent);
      }
    }
  };

  async function* run(
    request: ModelRequest,
    callOptions: CallOptions | undefined,
    stream: boolean,
  ): AsyncGenerator<ModelEvent, void> {
    const call = startCall(callOptions, {
      provider,
      model,
      idleTimeoutMs: limits.idleTimeoutMs,
      clock,
      timers: globalThis,
    });
    let headers: Headers | undefined;
    try {
      const idempotencyKey = callOptions?.idempotencyKey;
      const { response, outputTool } = await send(call, request, { stream, idempotencyKey });
      ({ headers } = response);
      const answer = collectAnswer({ provider, outputTool, cacheTtl: info.cacheTtl });
      const next = answerReader({ response, call, limits, answer, timers: globalThis });
      for (let events = await next(); events !== undefined; events = await next())
        for (const event of events) {
          yield event;
          if (isCancellation(call.stopped)) throw call.stopped;
        }
      yield { type: "finish", response: answer.response() };
    } catch (error) {
      // If the call was cancelled or timed out, that is the error, whatever else failed because of it.
      if (call.stopped !== undefined) throw call.stopped;
      const scrub = connection?.scrub ?? scrubber([options.apiKey, ...headerSecrets(options.headers)]);
      throw explain(error, { provider, model, headers, scrub, now: clock.now() });
    } finally {
      call.close();
    }
  }

  return Object.freeze({
    id: `${provider}/${model}`,
    info,
    async generate(request: ModelRequest, callOptions?: CallOptions): Promise<ModelResponse> {
      for await (const event of run(request, callOptions, false)) {
        if (event.type === "finish") return event.response;
      }
      // `run` ends with `finish` or throws.
      throw new ProviderError({ kind: "UNKNOWN", provider, model, message: "the answer has no end" });
    },
    stream: (request: ModelRequest, callOptions?: CallOptions) => run(request, callOptions, true),
  });
}

/** The API version that is sent. A header overrides the option. */
function versionOf({ headers = {}, apiVersion }: AnthropicOptions): string | undefined {
  return Object.entries(headers).find(([name]) => /^anthropic-version$/i.test(name))?.[1] ?? apiVersion;
}

function shapeOf({ output }: ModelRequest): string {
  return JSON.stringify(output?.schema ?? null);
}

function isStreamed(body: Body, wanted: boolean): boolean {
  const limit = body["max_tokens"];
  return wanted || (typeof limit === "number" && limit > LONGEST_WHOLE);
}
