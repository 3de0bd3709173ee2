import { type AgentResult, type AgentRunContext, checkFields } from "@ravi/kernel";
import { cleanText } from "../text/clean/clean-text.ts";
import { cleanValue } from "../text/clean/clean-value.ts";
import {
  type Numbering,
  type Redaction,
  REDACTION_FIELDS,
  type RedactionOptions,
  redactionOf,
} from "../text/redactor.ts";
import type { AgentMiddleware } from "../types.ts";

/**
 * Removes personal data and secrets from a run's input, before it is recorded, and from its output and structured value. If runs
 * are journaled, use it together with `piiRedaction`, which covers the model calls.
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

/**
 * A structured value that cannot be cleaned without changing its shape is left out: it must not reveal what the output does not.
 */
function cleanResult({ structured, problem, ...rest }: AgentResult, redaction: Redaction): AgentResult {
  const numbering: Numbering = new Map();
  const output = cleanText(rest.output, redaction, numbering);
  // It may quote a part of the answer, and half of a secret is not recognised.
  const isKept = problem !== undefined && output === rest.output;
  const result = { ...rest, output, ...(isKept && { problem: redaction.whole(problem, numbering) }) };
  const cleaned = cleanValue(structured, (text) => redaction.whole(text, numbering));
  return cleaned?.value === undefined ? result : { ...result, structured: cleaned.value };
}
