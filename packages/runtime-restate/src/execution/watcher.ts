import * as restate from "@restatedev/restate-sdk";
import { type AgentAccount, CancellationError, errorToJSON, type JsonObject, ToolError } from "@ravi/kernel";
import { json } from "../json.ts";
import { EXECUTION, ROOT, WATCHER } from "../names.ts";
import {
  type Launch,
  type AbandonedCall,
  type OverMessage,
  type Settle,
  workflowOf,
} from "../root/messages.ts";

/** The result of an execution's workflow. */
export type Ended = {
  readonly at: number;
  readonly outcome: JsonObject;
  readonly account?: AgentAccount | undefined;
  readonly settle: readonly (Settle | AbandonedCall)[];
  /** Whether another invocation can go on from what it did. */
  readonly isKept?: boolean | undefined;
  /** Which retry it was. */
  readonly retry?: number | undefined;
};

/**
 * Starts an execution and outlives it. However the execution ends, even if somebody kills it by hand, the root is told and its seat
 * is released.
 */
export function watcherService(
  retention: restate.WorkflowOptions,
): restate.WorkflowDefinition<typeof WATCHER, unknown> {
  const run = async (context: restate.WorkflowContext, launch: Launch): Promise<void> => {
    const { runId, execId } = launch;
    let over: OverMessage;
    try {
      const ended = await context.genericCall<Launch, Ended>({
        service: EXECUTION,
        method: "run",
        key: workflowOf(launch),
        parameter: launch,
        inputSerde: json(),
        outputSerde: json(),
      });
      over = { execId, ...ended };
    } catch (error) {
      if (!(error instanceof restate.TerminalError)) throw error;
      const outcome = outcomeOfKill(execId, error);
      over = { execId, at: 0, outcome, settle: [], isKilled: true, retry: launch.again?.n };
    }
    context.genericSend({ service: ROOT, method: "over", key: runId, parameter: over, inputSerde: json() });
  };
  return restate.workflow({ name: WATCHER, handlers: { run }, options: retention });
}

function outcomeOfKill(execId: string, error: restate.TerminalError): JsonObject {
  if (error instanceof restate.CancelledError) {
    const cancelled = new CancellationError({ reason: "cancelled at the server" });
    return { status: "cancelled", failure: errorToJSON(cancelled) };
  }
  const message = `the execution was ended at the Restate server: ${error.message}`;
  return { status: "failed", failure: errorToJSON(new ToolError({ toolName: execId, message })) };
}
