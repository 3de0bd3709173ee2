import { checkFields } from "@ravi/kernel";
import { cleanText } from "../text/clean/clean-text.ts";
import { cleanValue } from "../text/clean/clean-value.ts";
import { changeContent } from "../text/clean/messages.ts";
import { type Numbering, REDACTION_FIELDS, type RedactionOptions, redactionOf } from "../text/redactor.ts";
import type { FunctionMiddleware } from "../types.ts";

/** Removes personal data and secrets from a tool's result, before it is recorded or sent to a model. */
export function piiToolRedaction(options: RedactionOptions = {}): FunctionMiddleware {
  checkFields("piiToolRedaction", options, REDACTION_FIELDS);
  const redaction = redactionOf("piiToolRedaction", options);
  return {
    level: "function",
    name: "piiToolRedaction",
    role: "redactor",
    async process(context, next) {
      await next();
      const { result } = context;
      if (result === undefined) return;
      const numbering: Numbering = new Map();
      const content = changeContent(result.content, (text) => cleanText(text, redaction, numbering));
      const isClean = (value: unknown): boolean => {
        if (value === result.content) return true;
        const cleaned = cleanValue(value, (text) => redaction.whole(text, numbering));
        return cleaned !== undefined && Object.is(cleaned.value, value);
      };
      // The raw value would still contain what was removed from the text, or what only the value shows.
      if (content !== result.content || !isClean(result.value))
        context.result = { content, isError: result.isError };
    },
  };
}
