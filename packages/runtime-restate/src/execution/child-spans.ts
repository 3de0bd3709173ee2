import type { HireSpec, Span } from "@ravi/kernel";

/** The spans of the agents at work in this process, for children of theirs that this process runs too. */
export class ChildSpans {
  /** By the `execId` of the child. */
  private readonly parents = new Map<string, Span>();

  /** Notes the span until the attempt of the parent is over, wherever the child runs. */
  note({ execId, span }: Pick<HireSpec, "execId" | "span">, over: AbortSignal): void {
    if (span === undefined || over.aborted) return;
    this.parents.set(execId, span);
    // A newer attempt of the parent may have noted its own.
    const forget = (): void => {
      if (this.parents.get(execId) === span) this.parents.delete(execId);
    };
    over.addEventListener("abort", forget, { once: true });
  }

  parentOf(execId: string): Span | undefined {
    return this.parents.get(execId);
  }
}
