import {
  type CallOptions,
  cancellationOf,
  type ChatMessage,
  type ErrorKind,
  isCancellation,
  isRaviError,
  type LLMClient,
  type ModelEvent,
  type ModelRequest,
  ProviderError,
} from "@ravi/kernel";
import { scriptedModel } from "../../src/index.ts";
import type { ModelSetup } from "../../src/suites/index.ts";

/** The decisions of a client, each of which a test may get wrong. */
export interface Decisions {
  /** What goes over the wire. */
  readonly send: (request: ModelRequest) => ModelRequest;
  readonly key: (options: CallOptions | undefined) => string | undefined;
  readonly signal: (options: CallOptions | undefined) => CallOptions["signal"];
  readonly explain: (error: unknown) => unknown;
  /** What a stream tells. */
  readonly tell: (event: ModelEvent) => readonly ModelEvent[];
  readonly attempts: number;
  readonly closes: boolean;
  readonly requiresFinish: boolean;
}

export const HONEST: Decisions = {
  send: (request) => ({ ...structuredClone(request), messages: request.messages.map(plain) }),
  key: (options) => options?.idempotencyKey,
  signal: (options) => options?.signal,
  explain: (error) => {
    if (isCancellation(error)) return error;
    const { kind, status, retryAfterMs, message } = factsOf(error);
    return new ProviderError({
      kind,
      status,
      retryAfterMs,
      message: message.replaceAll(/sk-[\w-]+/g, "[redacted]"),
    });
  },
  tell: (event) => [event],
  attempts: 1,
  closes: true,
  requiresFinish: true,
};

/** A client with the manners of a provider's, over a wire that is a copy. It passes the suite; with a bug planted it must not. */
export function clientOf(
  { script, idleTimeoutMs = 60_000 }: ModelSetup,
  decisions: Decisions = HONEST,
): LLMClient {
  if (typeof script !== "function") throw new TypeError("the suite hands over functions");
  const attempt = async function* (
    request: ModelRequest,
    options: CallOptions | undefined,
    how: "generate" | "stream",
  ): AsyncGenerator<ModelEvent, void> {
    const gone = new AbortController();
    const outer = decisions.signal(options);
    const idle = new AbortController();
    const call = { signal: gone.signal, idempotencyKey: decisions.key(options) };
    const model = scriptedModel((sent) => script(decisions.send(sent), call), { record: false });
    const signal = outer === undefined ? idle.signal : AbortSignal.any([outer, idle.signal]);
    const timer = setTimeout(
      () => idle.abort(new ProviderError({ kind: "TIMEOUT", message: "silence" })),
      idleTimeoutMs,
    );
    let finished = false;
    try {
      if (how === "generate") {
        yield { type: "finish", response: await model.generate(request, { signal }) };
        finished = true;
        return;
      }
      for await (const event of model.stream(request, { signal })) {
        finished ||= event.type === "finish";
        yield* decisions.tell(event);
      }
      if (!finished && decisions.requiresFinish) throw new Error("the answer ended before its finish");
    } catch (error) {
      if (idle.signal.aborted) throw idle.signal.reason;
      throw outer?.aborted === true ? cancellationOf(outer) : error;
    } finally {
      clearTimeout(timer);
      if (decisions.closes) gone.abort();
    }
  };

  async function* stream(
    request: ModelRequest,
    options: CallOptions | undefined,
    how: "generate" | "stream",
  ): AsyncGenerator<ModelEvent, void> {
    for (let left = decisions.attempts; ; left--) {
      try {
        yield* attempt(request, options, how);
        return;
      } catch (error) {
        if (left <= 1) throw decisions.explain(error);
      }
    }
  }

  return {
    id: "test/honest",
    info: { provider: "test", model: "honest" },
    async generate(request, options) {
      for await (const event of stream(request, options, "generate")) {
        if (event.type === "finish") return event.response;
      }
      throw new Error("there was no answer");
    },
    stream: (request, options) => stream(request, options, "stream"),
  };
}

/** Reasoning of others stays behind. */
function plain(message: ChatMessage): ChatMessage {
  if (message.role !== "assistant" || typeof message.content === "string") return structuredClone(message);
  return { ...message, content: message.content.filter(({ type }) => type !== "reasoning") };
}

function factsOf(error: unknown): {
  kind: ErrorKind;
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  message: string;
} {
  if (isRaviError(error, "PROVIDER_ERROR")) return error;
  return { kind: "SERVER_ERROR", message: error instanceof Error ? error.message : String(error) };
}
