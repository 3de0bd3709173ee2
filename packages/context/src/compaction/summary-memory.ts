import type { ChatMessage, CompactionContext, UserMessage } from "@ravi/kernel";
import { startsWith } from "./prompt-check.ts";

/** A summary, and the messages that it (with what stands before it) stands for. */
export interface Remembered {
  readonly covered: readonly ChatMessage[];
  readonly summary: UserMessage;
}

/**
 * The newest summary of each execution, so that one who hands over the whole transcript in each turn does not pay for
 * each turn. It is kept per execution, told by its `llm`, and never beyond: a summary that was made in another run is
 * not in this run's journal, and a resumed run that found it would ask for other things than it did the first time.
 */
export class SummaryMemory {
  private readonly byExecution = new WeakMap<object, Remembered>();

  get(context: CompactionContext, prompt: readonly ChatMessage[]): Remembered | undefined {
    const found = this.byExecution.get(executionOf(context));
    return found !== undefined && startsWith(prompt, found.covered) ? found : undefined;
  }

  set(context: CompactionContext, remembered: Remembered): void {
    this.byExecution.set(executionOf(context), remembered);
  }
}

/** A function of its own is one execution's; one on a prototype is everybody's, and then the object tells them apart. */
function executionOf(context: CompactionContext): object {
  const own: unknown = Object.getOwnPropertyDescriptor(context, "llm")?.value;
  return typeof own === "function" ? own : context;
}
