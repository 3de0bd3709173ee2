import type { InboxMessage, JsonValue } from "@ravi/kernel";
import { afterFailure, type Again, type AfterFailure } from "./after-failure.ts";
import type { Kept, Operation, Step, StepOf } from "./steps.ts";

/** What is known of an operation that the agent asks for, each in its place: what came of a step, or null if it is to be made. */
type Recalled = readonly (Step | null)[];

/**
 * The record of an execution that had failed and goes on in another invocation. It answers what the agent asks for, in the order in which
 * it asked before, until something is asked that is not known.
 */
export class Recall {
  private readonly all: readonly Operation[];
  private readonly known: AfterFailure;
  private readonly optional: Map<string, Step>;
  private readonly unread: StepOf<"mail">[];
  private readonly values: Map<string, readonly StepOf<"wait">[]>;
  private place = 0;
  /** Whether nothing was done yet that was not done before, so that there is nothing to tell. */
  isSilent = true;

  constructor(kept: Pick<Kept, "operations" | "error">) {
    this.all = kept.operations;
    this.known = afterFailure(kept);
    this.optional = new Map(this.known.optional);
    this.unread = [...this.known.unread];
    this.values = new Map(this.known.values);
  }

  /** The operation that the agent has to ask for next; undefined if it has caught up. */
  get next(): Operation | undefined {
    return this.known.operations[this.place];
  }

  /** What it did before and was not asked for again, as it was kept. */
  get left(): readonly Operation[] {
    const later = this.all.slice(this.place);
    if (this.next !== undefined) return later;
    const left = new Set<Step | null>([
      ...this.optional.values(),
      ...this.unread,
      ...[...this.values.values()].flat(),
    ]);
    return later.flatMap((operation) => {
      const steps = operation.steps.map((step) => (left.has(step) ? step : null));
      return steps.some((step) => step !== null) ? [{ ...operation, steps }] : [];
    });
  }

  /** What is known of the operation. The caller has compared it with `next`. */
  take(asked: readonly string[]): Recalled {
    const { next } = this;
    if (next !== undefined) {
      this.place++;
      return next.steps;
    }
    return asked.map((each) => {
      const step = this.optional.get(each) ?? null;
      this.optional.delete(each);
      return step;
    });
  }

  /** What is known of a step that failed, and is made again. */
  again(asked: string): Again | undefined {
    return this.known.again.get(asked);
  }

  /** The same, as it was kept. */
  failureOf(asked: string): Step | null {
    const operation = this.all.findLast((each) => each.asked.includes(asked));
    return operation?.steps[operation.asked.indexOf(asked)] ?? null;
  }

  /** Whether a child has to be told to go on: its parent has not seen its end, or is to see another one. */
  mayGoOn(child: string): boolean {
    return !this.known.joined.has(child);
  }

  /** Whether the agent would get a message if it asked so. Undefined if only the tree knows. */
  hasMail(asked: string): boolean | undefined {
    const { next } = this;
    if (next !== undefined) return next.asked[0] === asked;
    return this.unread.length > 0 || this.optional.has(asked) || this.leftMail !== undefined
      ? true
      : undefined;
  }

  /** A message that an earlier retry did not come to read, under another name than it will ask for now. */
  private get leftMail(): readonly [asked: string, message: InboxMessage] | undefined {
    for (const [asked, step] of this.optional)
      if (step.kind === "mail" && step.message !== null) return [asked, step.message];
    return undefined;
  }

  /** A message that it had read before, and reads again. */
  takeUnread(): InboxMessage | undefined {
    const { leftMail } = this;
    if (leftMail === undefined) return this.unread.shift()?.message ?? undefined;
    const [asked, message] = leftMail;
    this.optional.delete(asked);
    return message;
  }

  /** A value that was delivered to it before, and that it gets again. */
  takeValue(name: string): { readonly value: JsonValue } | undefined {
    const [step, ...rest] = this.values.get(name) ?? [];
    if (step === undefined) return undefined;
    this.values.set(name, rest);
    return { value: step.value };
  }
}
