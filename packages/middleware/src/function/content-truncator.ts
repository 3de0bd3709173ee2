import { type ContentPart, checkFields, checkInteger } from "@ravi/kernel";
import { truncateText } from "@ravi/kernel/loop";
import type { FunctionMiddleware } from "../types.ts";

export interface ContentTruncatorOptions {
  /** The maximum length of a result, in characters. Default: 20,000. */
  readonly maxLength?: number | undefined;
}

/** Shortens results that would fill the prompt. The beginning and the end are kept, and the model is told how much is missing. */
export function contentTruncator(options: ContentTruncatorOptions = {}): FunctionMiddleware {
  checkFields("contentTruncator", options, ["maxLength"]);
  const maxLength = checkInteger("contentTruncator.maxLength", options.maxLength ?? 20_000, 200);
  return {
    level: "function",
    name: "contentTruncator",
    async process(context, next) {
      await next();
      const { result } = context;
      if (result === undefined) return;
      const content = truncateContent(result.content, maxLength);
      if (content !== result.content) context.result = { ...result, content };
    },
  };
}

/**
 * With several parts, the first ones are kept as far as there is room, and a last one says how much is missing. Images and files
 * are kept as they are.
 */
function truncateContent(
  content: string | readonly ContentPart[],
  maxLength: number,
): string | readonly ContentPart[] {
  if (typeof content === "string") return truncateText(content, maxLength, noticeOf);
  let left = maxLength;
  let missing = 0;
  let isSame = true;
  const parts = content.flatMap((part): readonly ContentPart[] => {
    if (part.type !== "text" || part.text.length === 0) return [part];
    // One notice at the end: a notice for each of a thousand parts would be longer than the parts.
    if (left === 0) {
      missing += part.text.length;
      return [];
    }
    const text = truncateText(part.text, left, noticeOf);
    left = Math.max(0, left - text.length);
    if (text === part.text) return [part];
    isSame = false;
    return [{ ...part, text }];
  });
  if (missing > 0) return [...parts, { type: "text", text: noticeOf(missing) }];
  return isSame ? content : parts;
}

function noticeOf(missing: number): string {
  return `\n[… ${missing} characters left out …]\n`;
}
