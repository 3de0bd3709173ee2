import {
  type ChatMessage,
  checkFields,
  checkInteger,
  InvalidValueError,
  type ModelRequest,
} from "@ravi/kernel";
import { checkFunction, estimateTokens } from "@ravi/kernel/loop";
import { checkOnError, enforce, type OnGuardError, trip } from "../guard.ts";
import { checkWord } from "../common/options.ts";
import type { ChatMiddleware } from "../types.ts";

export interface MaxTokensOptions {
  /** A request that is estimated to be larger is refused. Default: no limit. */
  readonly maxInputTokens?: number | undefined;
  /** The maximum length of an answer, in tokens. Default: no limit. */
  readonly maxOutputTokens?: number | undefined;
  /** What happens to a request that asks for a longer answer. Default: "clip", its `maxOutputTokens` is lowered. */
  readonly onExceed?: "clip" | "refuse" | undefined;
  /** Estimates the tokens of a request. Default: an estimate that is rather too high than too low. */
  readonly estimate?: ((request: ModelRequest) => number) | undefined;
  /** What happens if `estimate` throws. Default: "block". */
  readonly onError?: OnGuardError | undefined;
}

/** Limits the size of requests and answers. A request without `maxOutputTokens` gets the limit. */
export function maxTokens(options: MaxTokensOptions): ChatMiddleware {
  checkFields("maxTokens", options, ["maxInputTokens", "maxOutputTokens", "onExceed", "estimate", "onError"]);
  checkFunction("maxTokens.estimate", options.estimate);
  const input = limitOf("maxTokens.maxInputTokens", options.maxInputTokens);
  const output = limitOf("maxTokens.maxOutputTokens", options.maxOutputTokens);
  if (input === undefined && output === undefined) {
    throw new InvalidValueError({
      field: "maxTokens",
      value: options,
      expected: "an object with maxInputTokens, maxOutputTokens, or both",
    });
  }
  const onExceed = checkWord("maxTokens.onExceed", options.onExceed ?? "clip", ["clip", "refuse"]);
  const onError = checkOnError("maxTokens.onError", options.onError);
  const estimate = options.estimate ?? requestTokens();
  return {
    level: "chat",
    name: "maxTokens",
    async process(context, next) {
      if (input !== undefined) {
        await enforce({ layer: "maxTokens", context, onError }, () => {
          const size = estimate(context.request);
          if (!Number.isFinite(size))
            throw new InvalidValueError({ field: "estimate", value: size, expected: "a finite number" });
          return size > input
            ? `the request has about ${size} tokens; at most ${input} are allowed`
            : undefined;
        });
      }
      if (output !== undefined) {
        const asked = context.request.maxOutputTokens;
        if (asked !== undefined && asked > output && onExceed === "refuse") {
          trip(
            context,
            "maxTokens",
            `the request asks for ${asked} tokens of output; at most ${output} are allowed`,
          );
        }
        if (asked === undefined || asked > output)
          context.request = { ...context.request, maxOutputTokens: output };
      }
      await next();
    },
  };
}

function limitOf(field: string, value: number | undefined): number | undefined {
  return value === undefined ? undefined : checkInteger(field, value, 1);
}

/** Estimates messages, tools and the output schema. Each is counted once: the next request has most of them again. */
function requestTokens(): (request: ModelRequest) => number {
  const known = new WeakMap<object, number>();
  const tokensOf = (part: object, message: () => ChatMessage): number => {
    let tokens = known.get(part);
    if (tokens === undefined) known.set(part, (tokens = estimateTokens(message())));
    return tokens;
  };
  const asText = (part: object) => (): ChatMessage => ({ role: "system", content: JSON.stringify(part) });
  return ({ messages, tools = [], output }) => {
    let tokens = output === undefined ? 0 : tokensOf(output, asText(output));
    for (const tool of tools) tokens += tokensOf(tool, asText(tool));
    for (const message of messages) tokens += tokensOf(message, () => message);
    return tokens;
  };
}
