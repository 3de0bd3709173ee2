import {
  type CallOptions,
  InvalidValueError,
  isCancellation,
  type LLMClient,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
  ProviderError,
  systemClock,
} from "@ravi/kernel";
import { APIError } from "openai";
import { collectAnswer } from "./chat/answer.ts";
import { correct, type Correction, correctionOf, learn, rejectionOf } from "./chat/corrections.ts";
import { incomplete, parseAnswer, parseEvent } from "./chat/parse.ts";
import { chatBody } from "./chat/request.ts";
import { connect, type Connection } from "./connection.ts";
import { explain } from "./failure/provider-error.ts";
import { headerSecrets, scrubber } from "./failure/secrets.ts";
import { checkOptions, type OpenAIOptions } from "./options.ts";
import { type Body, openBody, readText } from "./wire/body.ts";
import { type Call, startCall } from "./wire/call.ts";
import { sseDecoder } from "./wire/sse.ts";

/**
 * A model of OpenAI's, or of any server that speaks Chat Completions, over the official client. It sends each request once,
 * with one exception that costs nothing: a request refused with 400 or 422 for a parameter that the server names and does
 * not take is sent once more without it (or with its other name), and so are all later ones from the start.
 */
export function openai(model: string, options: OpenAIOptions = {}): LLMClient {
  if (typeof model !== "string" || model === "") {
    throw new InvalidValueError({ field: "model", value: model, expected: "the name of a model" });
  }
  const limits = checkOptions(options);
  const { provider = "openai", clock = systemClock, contextWindow, maxOutputTokens } = options;
  const info: ModelInfo = Object.freeze({
    provider,
    model,
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  });
  const corrections: Correction[] = [];
  let connection: Connection | undefined;

  const begin = (callOptions: CallOptions | undefined): Call =>
    startCall(callOptions, {
      idleTimeoutMs: limits.idleTimeoutMs,
      clock,
      timeout: () =>
        new ProviderError({
          kind: "TIMEOUT",
          provider,
          model,
          message: `${provider}/${model}: nothing came for ${limits.idleTimeoutMs} ms (idleTimeoutMs)`,
        }),
    });

  const send = async (
    call: Call,
    request: ModelRequest,
    how: { readonly stream: boolean; readonly idempotencyKey: string | undefined },
  ): Promise<Response> => {
    if (call.stopped !== undefined) throw call.stopped;
    const { client, isCompatible } = (connection ??= connect(options));
    const { stream, idempotencyKey } = how;
    const post = (body: unknown): Promise<Response> =>
      call.wait(
        client
          .post("/chat/completions", {
            body,
            signal: call.signal,
            ...(idempotencyKey === undefined
              ? {}
              : { headers: { "idempotency-key": headerText(idempotencyKey) } }),
          })
          .asResponse(),
      );
    const body = correct(chatBody(request, { model, provider, isCompatible, stream }), corrections);
    try {
      return await post(body);
    } catch (error) {
      if (call.stopped !== undefined || !(error instanceof APIError)) throw error;
      const correction = correctionOf(rejectionOf(error), body);
      if (correction === undefined) throw error;
      learn(corrections, correction);
      return post(correct(body, [correction]));
    }
  };

  /** Cancelled or timed out counts before whatever followed from it. */
  const failure = (error: unknown, call: Call, headers?: Headers): Error =>
    call.stopped ??
    explain(error, {
      provider,
      model,
      headers,
      scrub: connection?.scrub ?? scrubber([options.apiKey, ...headerSecrets(options.headers)]),
      now: clock.now(),
    });

  return Object.freeze({
    id: `${provider}/${model}`,
    info,

    async generate(request: ModelRequest, callOptions?: CallOptions) {
      const call = begin(callOptions);
      let headers: Headers | undefined;
      try {
        const response = await send(call, request, {
          stream: false,
          idempotencyKey: callOptions?.idempotencyKey,
        });
        ({ headers } = response);
        const text = await readText(openBody(response, call, limits.maxPieceBytes));
        const answer = collectAnswer();
        answer.addWhole(parseAnswer(text, headers));
        return answer.response();
      } catch (error) {
        throw failure(error, call, headers);
      } finally {
        call.close();
      }
    },

    async *stream(request: ModelRequest, callOptions?: CallOptions): AsyncGenerator<ModelEvent, void> {
      const call = begin(callOptions);
      let headers: Headers | undefined;
      try {
        const response = await send(call, request, {
          stream: true,
          idempotencyKey: callOptions?.idempotencyKey,
        });
        ({ headers } = response);
        const answer = collectAnswer();
        if (/\bjson\b/.test(headers.get("content-type") ?? "")) {
          // A server that does not stream, or one that failed before it began to.
          const text = await readText(openBody(response, call, limits.maxPieceBytes));
          yield* answer.addWhole(parseAnswer(text, headers));
        } else {
          const body = openBody(response, call, limits.maxResponseBytes);
          const decoder = sseDecoder(limits.maxPieceBytes);
          for (let more = true; more;) {
            const piece = await nextPiece(body, call, answer.isFinished);
            more = piece !== undefined;
            for (const event of piece === undefined ? decoder.end() : decoder.push(piece)) {
              if (event.data.trim() === "[DONE]") {
                if (more) body.leave();
                more = false;
                break;
              }
              if (event.data !== "") yield* answer.addChunk(parseEvent(event.name, event.data));
            }
          }
          if (!answer.isFinished) throw incomplete(headers);
        }
        yield* answer.finish();
      } catch (error) {
        throw failure(error, call, headers);
      } finally {
        call.close();
      }
    },
  });
}

/** A header takes ASCII only, and the names of agents, which keys are made of, may be in any script. */
function headerText(text: string): string {
  return text.toWellFormed().replaceAll(/[^\u0020-\u007e]/gu, (letter) => encodeURIComponent(letter));
}

/** Once the answer is whole, a connection that breaks takes nothing away from it, and asking again would cost it twice. */
async function nextPiece(body: Body, call: Call, isFinished: boolean): Promise<Uint8Array | undefined> {
  try {
    return await body.next();
  } catch (error) {
    if (!isFinished || isCancellation(call.stopped)) throw error;
    return undefined;
  }
}
