import { checkFields, checkInteger } from "@ravi/kernel";
import { LEAST_RESULT_CHARS, shorten } from "@ravi/kernel/loop";
import type { FunctionMiddleware } from "../types.ts";

export interface ContentTruncatorOptions {
  /** The maximum length of a result, in characters. Default: 20,000. */
  readonly maxLength?: number | undefined;
}

/** Shortens results that would fill the prompt. The beginning and the end are kept, and the model is told how much is missing. */
export function contentTruncator(options: ContentTruncatorOptions = {}): FunctionMiddleware {
  checkFields("contentTruncator", options, ["maxLength"]);
  const maxLength = checkInteger(
    "contentTruncator.maxLength",
    options.maxLength ?? 20_000,
    LEAST_RESULT_CHARS,
  );
  return {
    level: "function",
    name: "contentTruncator",
    async process(context, next) {
      await next();
      const { result } = context;
      if (result === undefined) return;
      const content = shorten(result.content, maxLength, noticeOf);
      if (content !== result.content) context.result = { ...result, content };
    },
  };
}

function noticeOf(missing: number): string {
  return `\n[… ${missing} characters left out …]\n`;
}
