import { type AgentRunContext, type ChatContext, checkFields, type FunctionContext } from "@ravi/kernel";
import { piiRunRedaction } from "./agent/pii-run-redaction.ts";
import { piiRedaction } from "./chat/pii-redaction.ts";
import { piiToolRedaction } from "./function/pii-tool-redaction.ts";
import { MiddlewarePipeline } from "./pipeline.ts";
import { REDACTION_FIELDS, type RedactionOptions } from "./text/redactor.ts";

/** One redacting pipeline for each level. */
export interface PiiPipelines {
  readonly agent: MiddlewarePipeline<AgentRunContext>;
  readonly chat: MiddlewarePipeline<ChatContext>;
  readonly function: MiddlewarePipeline<FunctionContext>;
}

/**
 * Redaction at all three levels. Any single one leaves something raw in a journal: the run's input, a model's answer or a tool's
 * result. `use` on a pipeline adds layers inside of its redactor.
 */
export function piiPipelines(options: RedactionOptions = {}): PiiPipelines {
  checkFields("piiPipelines", options, REDACTION_FIELDS);
  return {
    agent: new MiddlewarePipeline<AgentRunContext>([piiRunRedaction(options)]),
    chat: new MiddlewarePipeline<ChatContext>([piiRedaction(options)]),
    function: new MiddlewarePipeline<FunctionContext>([piiToolRedaction(options)]),
  };
}
