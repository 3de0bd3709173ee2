import type { AgentResult } from "../../agent/agent.ts";
import type { ToolResult } from "../../agent/leaves.ts";
import type { MaybePromise } from "../../core/types.ts";
import type { ChatMessage, ToolCall } from "../../model/messages.ts";
import type { ToolTurnOptions } from "../tool-turn.ts";

/** What an agent adds to one run of `toolLoop`. */
export interface LoopExtension<T = never> extends Pick<
  ToolTurnOptions,
  "onHire" | "afterHires" | "onResult"
> {
  /**
   * Called before a call is made. A text refuses the call and is told to the model; a result is used instead of it. `finish` ends
   * the run with that result once the other calls of the turn are done.
   */
  readonly before?: ((call: ToolCall) => string | ToolResult | Finish<T> | undefined) | undefined;
  /** Called when the model wants to end with this answer. If it returns messages, the model gets them and continues. */
  readonly beforeAnswer?: ((text: string) => MaybePromise<readonly ChatMessage[]>) | undefined;
}

/** Ends the run with this result. */
export interface Finish<T = never> {
  readonly finish: AgentResult<T>;
}
