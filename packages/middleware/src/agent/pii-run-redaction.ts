import { type AgentRunContext, checkFields } from "@ravi/kernel";
import { REDACTION_FIELDS, type RedactionOptions, redactionOf } from "../text/redactor.ts";
import type { AgentMiddleware } from "../types.ts";

/**
 * Takes personal data and secrets out of a run's input, before it is written down, and out of its output. Whoever journals
 * runs needs this beside `piiRedaction`, which guards the model calls.
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
      const { result } = context;
      if (result !== undefined)
        context.result = { ...result, output: redaction.whole(result.output, new Map()) };
    },
  };
}
