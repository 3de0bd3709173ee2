import {
  type AbortSignalLike,
  type ChatContext,
  type ModelResponse,
  type Next,
  checkBoolean,
  checkFields,
  checkInteger,
  NO_USAGE,
} from "@ravi/kernel";
import { abortable } from "@ravi/kernel/loop";
import { keyOf } from "../common/canonical.ts";
import { type ExpiringCache, expiringCache, frozenCopy } from "../common/expiring-cache.ts";
import { checkNumber } from "../common/options.ts";
import type { ChatMiddleware } from "../types.ts";

export interface CacheOptions {
  /** The maximum number of answers; the least recently used one is dropped first. Default: 1,000. */
  readonly maxEntries?: number | undefined;
  /** How long an answer is kept, in milliseconds. Default: 300,000 (five minutes). */
  readonly ttlMs?: number | undefined;
  /** Whether a call that equals one in flight waits for its answer instead of calling the model too. Default: false. */
  readonly shareInFlight?: boolean | undefined;
}

type Answer = ModelResponse | undefined;
/** Calls in flight, by key. Each resolves with its answer, or undefined if it failed or was given up. */
type CallsInFlight = Map<string, Promise<Answer>>;

interface CacheState {
  readonly answers: ExpiringCache<ModelResponse>;
  readonly inFlight: CallsInFlight | undefined;
}

/**
 * Returns a stored answer to the same call: same tenant, model, parameters, messages and tools. Only complete answers are stored.
 * It must be inside of every redactor, so that it never stores what should have been removed. Outside of a `fallback` it also
 * stores the answer of a spare model, named in `model`; inside, each model has its own answers.
 */
export function cache(options: CacheOptions = {}): ChatMiddleware {
  checkFields("cache", options, ["maxEntries", "ttlMs", "shareInFlight"]);
  const state: CacheState = {
    answers: expiringCache({
      maxEntries: checkInteger("cache.maxEntries", options.maxEntries ?? 1_000, 1),
      ttlMs: checkNumber("cache.ttlMs", options.ttlMs ?? 300_000, 1),
    }),
    inFlight: checkBoolean("cache.shareInFlight", options.shareInFlight ?? false) ? new Map() : undefined,
  };
  return {
    level: "chat",
    name: "cache",
    insideOf: ["redactor"],
    async process(context, next) {
      const key = keyOfCall(context);
      if (key === undefined) return next();
      let known = state.answers.get(key, context.clock.now());
      // If an equal call in flight fails, the next waiting call asks the model itself. There is no await between the last look
      // and that call, so only one of them does.
      for (
        let pending = state.inFlight?.get(key);
        known === undefined && pending !== undefined;
        pending = state.inFlight?.get(key)
      ) {
        known = await abortable(pending, context.signal);
      }
      if (known !== undefined) {
        context.result = { ...known, usage: NO_USAGE, cached: true };
        return undefined;
      }
      return answer(state, key, context, next);
    },
  };
}

function keyOfCall({ meta, model, request }: ChatContext): string | undefined {
  const { provider, model: name } = model.info;
  return keyOf({ tenant: meta.tenantId, model: { id: model.id, provider, name }, request });
}

async function answer(
  { answers, inFlight }: CacheState,
  key: string,
  context: ChatContext,
  next: Next,
): Promise<void> {
  const call = inFlight === undefined ? undefined : registerCall(inFlight, key, context.signal);
  let kept: ModelResponse | undefined;
  try {
    await next();
    kept = storableCopy(context.result);
    if (kept !== undefined) answers.set(key, kept, context.clock.now());
  } finally {
    call?.finish(kept);
  }
}

/** Registers a call in flight. If it is aborted it is removed at once, because its model may never notice the abort. */
function registerCall(
  inFlight: CallsInFlight,
  key: string,
  signal: AbortSignalLike,
): { finish(kept: Answer): void } {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  inFlight.set(key, promise);
  const finish = (kept: Answer): void => {
    signal.removeEventListener("abort", giveUp);
    // Removed before the waiting calls are told, so that one of them becomes the next to ask the model.
    if (inFlight.get(key) === promise) inFlight.delete(key);
    resolve(kept);
  };
  const giveUp = (): void => finish(undefined);
  signal.addEventListener("abort", giveUp, { once: true });
  return { finish };
}

/** A frozen copy, or undefined if the answer was cut off, refused or filtered. */
function storableCopy(response: ModelResponse | undefined): ModelResponse | undefined {
  if (response === undefined || (response.finishReason !== "stop" && response.finishReason !== "toolCalls"))
    return undefined;
  return frozenCopy(response);
}
