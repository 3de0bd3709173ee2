import { type Next, CancellationError, MiddlewareError } from "@ravi/kernel";
import type { WithResult } from "./types.ts";

export type Core = () => Promise<void>;

/** A layer that has something to do around the call, made ready once when the pipeline is built. */
export interface Link<C> {
  readonly name: string;
  readonly process: (context: C, next: Next) => Promise<void>;
}

/** One call on its way through the links. */
interface Passage<C> {
  readonly links: readonly Link<C>[];
  readonly context: C;
  readonly core: Core;
}

export function pass<C extends WithResult>(links: readonly Link<C>[], context: C, core: Core): Promise<void> {
  return enter({ links, context, core }, 0, undefined);
}

function enter<C extends WithResult>(
  passage: Passage<C>,
  at: number,
  outer: Stay<C> | undefined,
): Promise<void> {
  const link = passage.links[at];
  return link === undefined ? enterCore(passage.core) : new Stay(passage, link, at, outer).run();
}

/** One tick longer than the core itself, like every layer, so that a forgotten `await` is seen here too. */
async function enterCore(core: Core): Promise<void> {
  await started(core);
}

/** One layer, while it is being run. */
class Stay<C extends WithResult> {
  private readonly passage: Passage<C>;
  private readonly link: Link<C>;
  private readonly at: number;
  private readonly outer: Stay<C> | undefined;
  private calls = 0;
  private isInnerRunning = false;
  /** Resolves, and never rejects, when the newest call inward has settled. */
  private settled: Promise<void> | undefined;
  private failure: unknown;
  /** The layer has returned or thrown; what it left running inside is given up. */
  private isOver = false;
  private misuse: MiddlewareError | undefined;

  constructor(passage: Passage<C>, link: Link<C>, at: number, outer: Stay<C> | undefined) {
    this.passage = passage;
    this.link = link;
    this.at = at;
    this.outer = outer;
  }

  async run(): Promise<void> {
    try {
      await this.link.process(this.passage.context, this.next());
      if (this.isInnerRunning && this.misuse === undefined) {
        await this.settled;
        this.misuse = misused(this.link, NOT_AWAITED, this.failure);
      }
      if (this.misuse !== undefined) throw this.misuse;
    } catch (error) {
      // A layer that throws may leave its call running on purpose, as a time limit does. After a misuse nothing floats.
      if (this.misuse !== undefined && this.isInnerRunning) await this.settled;
      this.clear();
      throw error;
    } finally {
      this.isOver = true;
    }
  }

  private next(): Next {
    const next = (): Promise<void> => (this.calls === 0 ? this.inward() : this.refuse(CALLED_TWICE));
    next.again = (): Promise<void> => {
      if (this.calls === 0) return this.refuse(AGAIN_TOO_EARLY);
      if (this.isInnerRunning) return this.refuse(AGAIN_WHILE_RUNNING);
      this.clear();
      return this.inward();
    };
    return next;
  }

  private inward(): Promise<void> {
    if (this.isGivenUp()) return heard(givenUp(this.link));
    this.calls++;
    this.isInnerRunning = true;
    const inner = enter(this.passage, this.at + 1, this);
    // Heard in any case, so that a layer which drops the promise leaves no unhandled rejection. It is heard before the
    // layer's own `await` goes on, so a layer that waited is never taken for one that did not.
    this.settled = inner.then(
      () => {
        this.isInnerRunning = false;
      },
      (error: unknown) => {
        this.isInnerRunning = false;
        this.failure = error;
        this.clear();
      },
    );
    return inner;
  }

  /** What a guard refused must not be left lying there as the answer; unless by now it is the answer of another attempt. */
  private clear(): void {
    if (!this.isGivenUp()) this.passage.context.result = undefined;
  }

  /** Somebody further out no longer waits for this call: nothing new may be begun, and nothing paid. */
  private isGivenUp(): boolean {
    return this.isOver || (this.outer?.isGivenUp() ?? false);
  }

  /** The layer may drop the refusal, or catch it: its misuse is remembered. */
  private refuse(problem: string): Promise<void> {
    this.misuse ??= misused(this.link, problem);
    return heard(this.misuse);
  }
}

/** What throws before its first await fails like any other. */
function started(begin: () => Promise<void>): Promise<void> {
  try {
    return begin();
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(error: unknown): Promise<void> {
  throw error;
}

/** A rejection that may be dropped without harm. */
function heard(reason: Error): Promise<void> {
  const refusal = rejected(reason);
  refusal.catch(() => {});
  return refusal;
}

const CALLED_TWICE =
  "called next() twice, which would run (and pay for) the call again; a layer that means to repeat uses next.again()";
const AGAIN_TOO_EARLY = "called next.again() before next(); the first time is next()";
const AGAIN_WHILE_RUNNING =
  "called next.again() while its earlier call was still running; await that one first";
const NOT_AWAITED =
  "returned while the call inside was still running; write `await next()`, or return its promise";

function misused<C>({ name }: Link<C>, problem: string, cause?: unknown): MiddlewareError {
  return new MiddlewareError({ layer: name, problem, cause });
}

function givenUp<C>({ name }: Link<C>): CancellationError {
  return new CancellationError({
    reason: `the call was given up further out, so ${name} may not go on inward`,
  });
}
