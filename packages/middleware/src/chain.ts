import { isPromiseLike, type MaybePromise, type Next, type Pipeline } from "@ravi/kernel";
import {
  AGAIN_TOO_EARLY,
  AGAIN_WHILE_RUNNING,
  CALLED_TWICE,
  givenUp,
  misused,
  NOT_AWAITED,
} from "./misuse.ts";
import type { WithResult } from "./types.ts";

// Runs one call through the layers of a pipeline, from the outside in, to the core and back.
//
// A layer may wait for its call (`await next()`), repeat it (`next.again()`), answer without it, or throw while it is running. It may
// not return while the call inside is still running: that is found out, and is its failure.
//
// Most layers are transparent: they return the promise of `next()` as it is. Such a layer ends when its call ends, so it gets no
// promise of its own, which saves 130 ns of 270. Where all layers are transparent and the core makes no promise, the whole
// pipeline makes none.

/** Gives a promise only where it makes one. */
export type Core = (way?: WayIn | void) => MaybePromise<void>;

/** What a pipeline around this one says of its call; see `Pipeline` of the kernel. */
export type WayIn = NonNullable<Parameters<Pipeline<never>["run"]>[2]>;

/** A layer that has something to do around the call, made ready once when the pipeline is built. */
export interface Link<C> {
  readonly name: string;
  readonly process: (context: C, next: Next) => Promise<void>;
}

/** What all layers of one call share. */
interface Passage<C> {
  readonly links: readonly Link<C>[];
  readonly context: C;
  readonly core: Core;
  /** Of the pipeline around this one. */
  readonly way: WayIn | undefined;
  /** The core was done at once, without a promise. */
  isCoreDone: boolean;
  /** A layer is not transparent, or misused `next`: the promise of the outermost one has to be awaited. */
  needsAwait: boolean;
  /** The caller was told that all is done, without a promise. */
  isDone: boolean;
}

/** In a box, since anything may be thrown, even undefined. */
interface Failure {
  readonly error: unknown;
}

/** Gives no promise where the core makes none and every layer is transparent. */
export function pass<C extends WithResult>(
  links: readonly Link<C>[],
  context: C,
  core: Core,
  way: WayIn | undefined,
): MaybePromise<void> {
  const outermost = links[0];
  if (outermost === undefined) return core(way);
  const passage = { links, context, core, way, isCoreDone: false, needsAwait: false, isDone: false };
  const passed = new LayerRun(passage, outermost, 0, undefined).run();
  if (!passage.isCoreDone || passage.needsAwait) return passed;
  passage.isDone = true;
}

/**
 * One run of one layer. It learns through `innerEnded` that its call inward is over, and two things hold for that moment:
 *
 * - It comes just before the promise of that call settles, so a layer that awaits the promise never returns before it.
 * - It comes in the second tick of the microtask queue or later, even if the call was done at once, so a layer that does not
 *   await the promise always returns before it.
 */
class LayerRun<C extends WithResult> implements WayIn {
  private readonly passage: Passage<C>;
  private readonly link: Link<C>;
  private readonly at: number;
  private readonly outer: LayerRun<C> | undefined;
  private calls = 0;
  private isInnerRunning = false;
  /** The newest call inward. */
  private inner: Promise<void> | undefined;
  private innerFailure: Failure | undefined;
  /** The layer returned the promise of its call as it is. */
  private isTransparent = false;
  /** The layer has returned or thrown. A call of its own that still runs is given up. */
  private hasEnded = false;
  private misuse: Error | undefined;

  constructor(passage: Passage<C>, link: Link<C>, at: number, outer: LayerRun<C> | undefined) {
    this.passage = passage;
    this.link = link;
    this.at = at;
    this.outer = outer;
  }

  run(): Promise<void> {
    let process: Promise<void>;
    try {
      process = this.link.process(this.passage.context, this.makeNext());
    } catch (error) {
      process = rejected(error);
    }
    this.isTransparent = this.calls > 0 && process === this.inner;
    if (this.isTransparent) return process;
    this.passage.needsAwait = true;
    return this.endWith(process);
  }

  /** The end of a layer that is not transparent. */
  private async endWith(process: Promise<void>): Promise<void> {
    let failure: Failure | undefined;
    try {
      await process;
      if (this.isInnerRunning && this.misuse === undefined) {
        await this.innerSettled();
        this.misuse = misused(this.link.name, NOT_AWAITED, this.innerFailure?.error);
      }
      if (this.misuse !== undefined) throw this.misuse;
    } catch (error) {
      // A layer that throws may leave its call running on purpose, as a time limit does. After a misuse nothing is left running.
      if (this.misuse !== undefined && this.isInnerRunning) await this.innerSettled();
      this.clearResult();
      failure = { error };
    }
    this.hasEnded = true;
    // A layer whose call went further inward has used up its ticks there.
    if ((this.calls === 0 || this.isInnerRunning) && this.outer?.mayReturnEarly() === true) await TICK;
    failure = this.tellOuter(failure);
    if (failure !== undefined) throw failure.error;
  }

  /** The end of a transparent layer. Only a misuse can make it another one than that of its call. */
  private endTransparent(innerFailure: Failure | undefined): Failure | undefined {
    let failure = innerFailure;
    if (failure === undefined && this.misuse !== undefined) {
      failure = { error: this.misuse };
      this.clearResult();
    }
    this.hasEnded = true;
    return this.tellOuter(failure);
  }

  private tellOuter(failure: Failure | undefined): Failure | undefined {
    return this.outer === undefined ? failure : this.outer.innerEnded(failure);
  }

  private makeNext(): Next {
    const next = (): Promise<void> => (this.calls === 0 ? this.inward() : this.refuse(CALLED_TWICE));
    const again = (): Promise<void> => this.again();
    // Not written out here: see docs/decisions/0012.
    next.again = again;
    return next;
  }

  private again(): Promise<void> {
    if (this.calls === 0) return this.refuse(AGAIN_TOO_EARLY);
    if (this.isInnerRunning) return this.refuse(AGAIN_WHILE_RUNNING);
    this.clearResult();
    return this.inward();
  }

  /** Calls the next layer, or the core. */
  private inward(): Promise<void> {
    if (this.isGivenUp()) return handledRejection(givenUp(this.link.name));
    this.calls++;
    this.isInnerRunning = true;
    const at = this.at + 1;
    const link = this.passage.links[at];
    return (this.inner =
      link === undefined ? this.runCore() : new LayerRun(this.passage, link, at, this).run());
  }

  private async runCore(): Promise<void> {
    const { passage } = this;
    let failure: Failure | undefined;
    try {
      const running = startCore(passage.core, this);
      passage.isCoreDone = !isPromiseLike(running);
      await (passage.isCoreDone ? TICK : running);
      if (passage.isDone) return;
    } catch (error) {
      failure = { error };
    }
    if (this.mayReturnEarly()) await TICK;
    failure = this.innerEnded(failure);
    if (failure !== undefined) throw failure.error;
  }

  /** The call inward is over. Gives what its promise is to reject with, if anything. */
  private innerEnded(failure: Failure | undefined): Failure | undefined {
    this.isInnerRunning = false;
    if (failure !== undefined) {
      this.innerFailure = failure;
      this.clearResult();
    }
    if (this.isTransparent) return this.endTransparent(failure);
    // A layer may drop the promise: its rejection must not go unhandled.
    if (failure !== undefined) void this.innerSettled();
    return failure;
  }

  /** Resolves, and never rejects, when the newest call inward has settled. */
  private async innerSettled(): Promise<void> {
    try {
      await this.inner;
    } catch {
      // Kept in `innerFailure`.
    }
  }

  /** Whether this layer or one around it can return before its call is over. Transparent ones cannot. */
  private mayReturnEarly(): boolean {
    return !this.isTransparent || (this.outer?.mayReturnEarly() ?? false);
  }

  /** After a failure no answer is left in the context; unless another attempt, further out, has put its own there. */
  private clearResult(): void {
    if (!this.isGivenUp()) this.passage.context.result = undefined;
  }

  /** Somebody further out no longer waits for this call: nothing new may be begun, and nothing paid. */
  isGivenUp(): boolean {
    const outer = this.outer ?? this.passage.way;
    return this.hasEnded || (outer?.isGivenUp() ?? false);
  }

  /** The misuse is remembered, since the layer may drop or catch the rejection. */
  private refuse(problem: string): Promise<void> {
    this.passage.needsAwait = true;
    this.misuse ??= misused(this.link.name, problem);
    return handledRejection(this.misuse);
  }
}

/** Awaiting it takes one tick and makes no promise. */
const TICK = Promise.resolve();

/** A core that throws before its first promise fails like any other. */
function startCore(core: Core, way: WayIn): MaybePromise<void> {
  try {
    return core(way);
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(error: unknown): Promise<void> {
  throw error;
}

/** A rejection that may be dropped without harm. */
function handledRejection(reason: Error): Promise<void> {
  const rejection = rejected(reason);
  rejection.catch(() => {});
  return rejection;
}
