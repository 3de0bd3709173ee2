import { isPromiseLike, type MaybePromise, MiddlewareError, type Next, type OuterCall } from "@ravi/kernel";
import { keepShapes } from "@ravi/kernel/loop";
import { AGAIN_TOO_EARLY, AGAIN_WHILE_RUNNING, CALLED_TWICE, givenUp, NOT_AWAITED } from "./misuse.ts";
import type { WithResult } from "../types.ts";

// Runs one call through the layers of a pipeline, from the outermost to the core and back.
//
// A layer may wait for its call (`await next()`), repeat it (`next.again()`), answer without it, or throw while it is running. It
// must not return while the inner call is still running: that is detected, and counts as the layer's failure.
//
// Most layers are transparent: they return the promise of `next()` itself. Such a layer ends when its call ends, so it gets no
// promise of its own, which saves 130 ns of 270. If all layers are transparent and the core makes no promise, the whole pipeline
// makes none.

/** The call itself. Returns a promise only if it needs one. */
export type Core = (outer?: OuterCall | void) => MaybePromise<void>;

/** A layer with a `process` method, prepared once when the pipeline is built. */
export interface Link<C> {
  readonly name: string;
  readonly process: (context: C, next: Next) => Promise<void>;
}

/** The state that all layers of one call share. */
interface PipelineCall<C> {
  readonly links: readonly Link<C>[];
  readonly context: C;
  readonly core: Core;
  /** From the surrounding pipeline. */
  readonly outer: OuterCall | undefined;
  /** The core finished synchronously, without a promise. */
  isCoreDone: boolean;
  /** A layer is not transparent, or misused `next`, so the promise of the outermost layer has to be awaited. */
  needsAwait: boolean;
  /** The caller was told synchronously that the call is done. */
  isDone: boolean;
}

/** An object, because anything may be thrown, even undefined. */
interface Failure {
  readonly error: unknown;
}

/** Runs a call through the layers. Returns no promise if the core makes none and every layer is transparent. */
export function runLayers<C extends WithResult>(
  links: readonly Link<C>[],
  context: C,
  core: Core,
  outer: OuterCall | undefined,
): MaybePromise<void> {
  const outermost = links[0];
  if (outermost === undefined) return core(outer);
  const call = { links, context, core, outer, isCoreDone: false, needsAwait: false, isDone: false };
  const passed = new LayerRun(call, outermost, 0, undefined).run();
  if (!call.isCoreDone || call.needsAwait) return passed;
  call.isDone = true;
}

/**
 * One run of one layer. `innerEnded` is called when its inner call is over. Two things hold for that moment:
 *
 * - It is before the promise of the inner call settles, so a layer that awaits the promise never returns before it.
 * - It is in the second microtask tick or later, even if the inner call was synchronous, so a layer that does not await the
 * promise always returns before it.
 */
class LayerRun<C extends WithResult> implements OuterCall {
  private readonly call: PipelineCall<C>;
  private readonly link: Link<C>;
  private readonly at: number;
  private readonly outer: LayerRun<C> | undefined;
  private calls = 0;
  private isInnerRunning = false;
  /** The promise of the latest inner call. */
  private inner: Promise<void> | undefined;
  private innerFailure: Failure | undefined;
  /** Whether the layer returned the promise of its inner call itself. */
  private isTransparent = false;
  /** Whether the layer has returned or thrown. An inner call that still runs is given up. */
  private hasEnded = false;
  private misuse: Error | undefined;

  constructor(call: PipelineCall<C>, link: Link<C>, at: number, outer: LayerRun<C> | undefined) {
    this.call = call;
    this.link = link;
    this.at = at;
    this.outer = outer;
  }

  run(): Promise<void> {
    let process: Promise<void>;
    try {
      process = this.link.process(this.call.context, this.makeNext());
    } catch (error) {
      process = rejected(error);
    }
    this.isTransparent = this.calls > 0 && process === this.inner;
    if (this.isTransparent) return process;
    this.call.needsAwait = true;
    return this.endWith(process);
  }

  /** Waits for the end of a layer that is not transparent. */
  private async endWith(process: Promise<void>): Promise<void> {
    let failure: Failure | undefined;
    try {
      await process;
      if (this.isInnerRunning && this.misuse === undefined) {
        await this.innerSettled();
        const cause = this.innerFailure?.error;
        this.misuse = new MiddlewareError({ layer: this.link.name, problem: NOT_AWAITED, cause });
      }
      if (this.misuse !== undefined) throw this.misuse;
    } catch (error) {
      // A layer that throws may leave its call running on purpose, as a timeout does. After a misuse, the call is awaited.
      if (this.misuse !== undefined && this.isInnerRunning) await this.innerSettled();
      this.clearResult();
      failure = { error };
    }
    this.hasEnded = true;
    // A layer whose inner call went through further layers has already used up enough ticks there.
    if ((this.calls === 0 || this.isInnerRunning) && this.outer?.mayReturnEarly() === true) await TICK;
    failure = this.notifyOuter(failure);
    if (failure !== undefined) throw failure.error;
  }

  /** The end of a transparent layer. It is that of its inner call, unless `next` was misused. */
  private endTransparent(innerFailure: Failure | undefined): Failure | undefined {
    let failure = innerFailure;
    if (failure === undefined && this.misuse !== undefined) {
      failure = { error: this.misuse };
      this.clearResult();
    }
    this.hasEnded = true;
    return this.notifyOuter(failure);
  }

  private notifyOuter(failure: Failure | undefined): Failure | undefined {
    return this.outer === undefined ? failure : this.outer.innerEnded(failure);
  }

  private makeNext(): Next {
    const next = (): Promise<void> => (this.calls === 0 ? this.inward() : this.refuse(CALLED_TWICE));
    const again = (): Promise<void> => this.again();
    // Assigned from a constant: see docs/decisions/0012.
    next.again = again;
    return next;
  }

  private again(): Promise<void> {
    if (this.calls === 0) return this.refuse(AGAIN_TOO_EARLY);
    if (this.isInnerRunning) return this.refuse(AGAIN_WHILE_RUNNING);
    this.clearResult();
    return this.inward();
  }

  /** Runs the next layer, or the core. */
  private inward(): Promise<void> {
    if (this.isGivenUp()) return handledRejection(givenUp(this.link.name));
    this.calls++;
    this.isInnerRunning = true;
    const at = this.at + 1;
    const link = this.call.links[at];
    return (this.inner = link === undefined ? this.runCore() : new LayerRun(this.call, link, at, this).run());
  }

  // Not async: the promise and the functions of an asynchronous call would be allocated beside those of its await.
  private runCore(): Promise<void> {
    const { call } = this;
    const running = startCore(call.core, this);
    call.isCoreDone = !isPromiseLike(running);
    return Promise.resolve(call.isCoreDone ? TICK : running).then(
      () => (call.isDone ? undefined : this.coreEnded(undefined)),
      (error: unknown) => this.coreEnded({ error }),
    );
  }

  private coreEnded(failure: Failure | undefined): MaybePromise<void> {
    if (this.mayReturnEarly()) return TICK.then(() => this.settleInner(failure));
    this.settleInner(failure);
  }

  private settleInner(failure: Failure | undefined): void {
    const left = this.innerEnded(failure);
    if (left !== undefined) throw left.error;
  }

  /** Called when the inner call is over. Returns what its promise has to reject with, if anything. */
  private innerEnded(failure: Failure | undefined): Failure | undefined {
    this.isInnerRunning = false;
    if (failure !== undefined) {
      this.innerFailure = failure;
      this.clearResult();
    }
    if (this.isTransparent) return this.endTransparent(failure);
    // The layer may ignore the promise; its rejection must not be reported as unhandled.
    if (failure !== undefined) void this.innerSettled();
    return failure;
  }

  /** Resolves, and never rejects, when the latest inner call has settled. */
  private async innerSettled(): Promise<void> {
    try {
      await this.inner;
    } catch {
      // It is kept in `innerFailure`.
    }
  }

  /** Whether this layer, or one around it, can return before its inner call is over. A transparent one cannot. */
  private mayReturnEarly(): boolean {
    return !this.isTransparent || (this.outer?.mayReturnEarly() ?? false);
  }

  /** Removes the result after a failure, unless the call was given up: then it may be the result of a newer attempt. */
  private clearResult(): void {
    if (!this.isGivenUp()) this.call.context.result = undefined;
  }

  /** Whether a layer further out no longer waits for this call. Then nothing new may be started or paid for. */
  isGivenUp(): boolean {
    const outer = this.outer ?? this.call.outer;
    return this.hasEnded || (outer?.isGivenUp() ?? false);
  }

  /** Rejects, and remembers the misuse, since the layer may ignore or catch the rejection. */
  private refuse(problem: string): Promise<void> {
    this.call.needsAwait = true;
    this.misuse ??= new MiddlewareError({ layer: this.link.name, problem });
    return handledRejection(this.misuse);
  }
}

/** Awaiting it takes one tick and allocates no promise. */
const TICK = Promise.resolve();

/** A core that throws synchronously fails like any other. */
function startCore(core: Core, outer: OuterCall): MaybePromise<void> {
  try {
    return core(outer);
  } catch (error) {
    return rejected(error);
  }
}

async function rejected(error: unknown): Promise<void> {
  throw error;
}

/** A rejected promise that does not count as unhandled if it is ignored. */
function handledRejection(reason: Error): Promise<void> {
  const rejection = rejected(reason);
  rejection.catch(() => {});
  return rejection;
}

void runLayers([{ name: "specimen", process: keepNext }], { result: undefined }, () => {}, undefined);

/** The function `next` holds on to the `LayerRun` that has made it. */
function keepNext(_: WithResult, next: Next): Promise<void> {
  keepShapes(next);
  return next();
}
