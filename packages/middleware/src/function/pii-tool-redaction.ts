import { checkFields } from "@ravi/kernel";
import { changeContent } from "../text/messages.ts";
import { REDACTION_FIELDS, type RedactionOptions, redactionOf } from "../text/redactor.ts";
import type { FunctionMiddleware } from "../types.ts";

/** Takes personal data and secrets out of what a tool gives, before it is written down or shown to a model. */
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
      const numbering = new Map<string, Map<string, number>>();
      const content = changeContent(result.content, (text) => redaction.whole(text, numbering));
      // The raw value would carry on what was taken out of the text.
      if (content !== result.content) context.result = { content, isError: result.isError };
    },
  };
}
