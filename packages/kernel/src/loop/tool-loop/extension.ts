import type { AgentResult } from "../../agent/agent.ts";
import type { ToolResult } from "../../agent/leaves.ts";
import type { MaybePromise } from "../../core/types.ts";
import type { ChatMessage, ToolCall } from "../../model/messages.ts";
import type { ToolTurnOptions } from "../tool-turn.ts";

/** What an agent of its own kind adds to one run of the loop. */
export interface LoopExtension<T = never> extends Pick<
  ToolTurnOptions,
  "onHire" | "afterHires" | "onResult"
> {
  /**
   * Looks at a call before it is made. A text refuses it and is told to the model; a result stands for it. `finish` ends the
   * run with that result, when the other calls of the turn are done.
   */
  readonly before?: ((call: ToolCall) => string | ToolResult | Finish<T> | undefined) | undefined;
  /** The model wants to end with this answer. Messages say what it must know first, and it goes on with them. */
  readonly beforeAnswer?: ((text: string) => MaybePromise<readonly ChatMessage[]>) | undefined;
}

/** The answer of the run, given by a call. */
export interface Finish<T = never> {
  readonly finish: AgentResult<T>;
}
