import { type AgentResult, type AgentRunContext, checkFields } from "@ravi/kernel";
import { cleanText } from "../text/clean-text.ts";
import { cleanValue } from "../text/clean-value.ts";
import {
  type Numbering,
  type Redaction,
  REDACTION_FIELDS,
  type RedactionOptions,
  redactionOf,
} from "../text/redactor.ts";
import type { AgentMiddleware } from "../types.ts";

/**
 * Takes personal data and secrets out of a run's input, before it is written down, and out of its output and its
 * structured value. Whoever journals runs needs this beside `piiRedaction`, which guards the model calls.
 */
export function piiRunRedaction(options: RedactionOptions = {}): AgentMiddleware {
  checkFields("piiRunRedaction", options, REDACTION_FIELDS);
  const redaction = redactionOf("piiRunRedaction", options);
  const clean = (context: AgentRunContext): void => {
    context.input = redaction.whole(context.input, new Map());
  };
  return {
    level: "agent",
    name: "piiRunRedaction",
    role: "redactor",
    admit: clean,
    async process(context, next) {
      clean(context);
      await next();
      if (context.result !== undefined) context.result = cleanResult(context.result, redaction);
    },
  };
}

/** A structured value that cannot be cleaned and keep its form is left out: what the output does not say, it may not say. */
function cleanResult({ structured, ...rest }: AgentResult, redaction: Redaction): AgentResult {
  const numbering: Numbering = new Map();
  const result = { ...rest, output: cleanText(rest.output, redaction, numbering) };
  const cleaned = cleanValue(structured, (text) => redaction.whole(text, numbering));
  return cleaned?.value === undefined ? result : { ...result, structured: cleaned.value };
}
