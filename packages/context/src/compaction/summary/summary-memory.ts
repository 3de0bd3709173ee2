import type { ChatMessage, CompactionContext, UserMessage } from "@ravi/kernel";
import { startsWith } from "./prompt-check.ts";

/** A summary, and the messages at the beginning of the list that it covers. */
export interface KnownSummary {
  readonly covered: readonly ChatMessage[];
  readonly summary: UserMessage;
}

/**
 * The newest summary of each execution, so that a caller that passes the whole transcript in each turn does not pay for a summary
 * in each turn. An execution is identified by its `llm` function. A summary of another run is never taken from here: it is not in this
 * run's journal, so a resumed run that found it would make other requests than the first time. It comes among the messages, if the runtime
 * has kept it with the history.
 */
export class SummaryMemory {
  private readonly byExecution = new WeakMap<object, KnownSummary>();

  get(context: CompactionContext, prompt: readonly ChatMessage[]): KnownSummary | undefined {
    const found = this.byExecution.get(executionOf(context));
    return found !== undefined && startsWith(prompt, found.covered) ? found : undefined;
  }

  set(context: CompactionContext, remembered: KnownSummary): void {
    this.byExecution.set(executionOf(context), remembered);
  }
}

/** An own `llm` function belongs to one execution. One on a prototype is shared, so then the context object is the key. */
function executionOf(context: CompactionContext): object {
  const own: unknown = Object.getOwnPropertyDescriptor(context, "llm")?.value;
  return typeof own === "function" ? own : context;
}
