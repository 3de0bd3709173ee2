import type { AgentId, ExecId } from "../core/ids.ts";
import type { JsonValue } from "../core/json.ts";
import type { BudgetDimension } from "../errors/errors.ts";
import type { SerializedError } from "../errors/to-json.ts";
import type { ContentPart, ToolCall } from "../model/messages.ts";
import type { Usage } from "../model/usage.ts";
import type { AgentResult } from "./agent.ts";

/** What an agent reports while it works. The host emits `started` and `completed`, the agent's loop the rest. */
export type AgentEvent =
  | { readonly type: "started"; readonly input: string }
  | { readonly type: "step"; readonly step: number }
  | { readonly type: "text" | "reasoning"; readonly delta: string }
  | {
      readonly type: "toolArguments";
      readonly index: number;
      readonly name?: string | undefined;
      readonly delta: string;
    }
  | { readonly type: "toolCall"; readonly call: ToolCall }
  | {
      readonly type: "toolResult";
      readonly callId: string;
      readonly name: string;
      readonly content: string | readonly ContentPart[];
      readonly isError: boolean;
    }
  | { readonly type: "usage"; readonly usage: Usage; readonly costUsd: number | null }
  | { readonly type: "handoff"; readonly to: AgentId; readonly task: string }
  | {
      readonly type: "budgetWarning";
      readonly dimension: BudgetDimension;
      readonly used: number;
      readonly limit: number;
      readonly scope: string;
    }
  /** Any other event of an agent, a strategy, a tool or the runtime, such as `approvalRequested` or `answerRestarted`. */
  | {
      readonly type: "progress";
      readonly name: string;
      readonly data: JsonValue;
      /** The tool call that reports it or, for `approvalRequested`, that it is about; absent if there is none. */
      readonly callId?: string | undefined;
    }
  | { readonly type: "error"; readonly error: SerializedError }
  | { readonly type: "completed"; readonly result: AgentResult };

/** An event and the agent that it comes from. */
export interface RunEvent {
  /** Counts from 1, without gaps, over the whole tree. In a runtime of one process, a resumed run counts from 1 again. */
  readonly seq: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly agentId: AgentId;
  readonly execId: ExecId;
  readonly event: AgentEvent;
}
