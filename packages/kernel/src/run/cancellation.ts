import type { AbortSignalLike } from "../core/types.ts";
import { CancellationError } from "../errors/errors.ts";
import { isCancellation } from "../errors/is.ts";

/**
 * A cooperative stop button. Cancelling goes down to children, never up; the first reason stays. A child costs its parent
 * nothing until somebody listens on it (`signal`, `wait`, `onCancel`), and `dispose` takes even that away.
 */
export interface CancellationToken {
  /** The first call counts, later ones do nothing. */
  cancel(reason?: string | CancellationError): void;
  readonly isCancelled: boolean;
  readonly reason: string | undefined;
  /** What `check` throws and the signal carries; undefined while not cancelled. */
  readonly error: CancellationError | undefined;
  /** Throws when cancelled. */
  check(): void;
  /** Resolves with the reason when cancelled; never, if it is disposed of first. */
  wait(): Promise<string>;
  /** Calls back once when cancelled, at once when it already is. Returns how to take the callback off. */
  onCancel(callback: (error: CancellationError) => void): () => void;
  child(): CancellationToken;
  /** Made when first asked for. */
  readonly signal: AbortSignalLike;
  /** Leaves the parent (or the outer signal) and forgets all callbacks. */
  dispose(): void;
  [Symbol.dispose](): void;
}

export interface CancellationTokenConstructor {
  /** With a signal given, the token is cancelled when that aborts. */
  new (outer?: AbortSignalLike): CancellationToken;
}

type Listener = (error: CancellationError) => void;

class Token implements CancellationToken {
  private parent: Token | undefined;
  private own: CancellationError | undefined;
  /** Nearly every token has one listener at most, and needs no set for it. */
  private first: Listener | undefined;
  private others: Set<Listener> | undefined;
  private controller: AbortController | undefined;
  /** What the parent or the outer signal calls; undefined while nobody listens here. */
  private heard: (() => void) | undefined;
  private outer: AbortSignalLike | undefined;
  private disposed = false;

  constructor(outer?: AbortSignalLike, parent?: Token) {
    this.outer = outer;
    this.parent = parent;
  }

  /** Pulls: walks up to whoever was cancelled, and keeps the answer. */
  get error(): CancellationError | undefined {
    if (this.own !== undefined) return this.own;
    if (this.outer?.aborted === true) return (this.own = cancellationOf(this.outer));
    return (this.own = this.parent?.error);
  }

  get isCancelled(): boolean {
    return this.error !== undefined;
  }

  get reason(): string | undefined {
    return this.error?.reason;
  }

  cancel(reason: string | CancellationError = "no reason given"): void {
    if (this.disposed || this.error !== undefined) return;
    this.fire(typeof reason === "string" ? new CancellationError({ reason }) : reason);
  }

  check(): void {
    const { error } = this;
    if (error !== undefined) throw error;
  }

  wait(): Promise<string> {
    return new Promise((resolve) => this.onCancel((error) => resolve(error.reason)));
  }

  onCancel(callback: Listener): () => void {
    const { error } = this;
    if (error !== undefined) {
      callback(error);
      return noop;
    }
    if (this.disposed) return noop;
    // Wrapped, so that the same callback may be added twice and each taken off by itself, also by another while all are called.
    let isOn = true;
    const listener: Listener = (reason) => {
      if (isOn) callback(reason);
    };
    this.add(listener);
    return () => {
      isOn = false;
      this.remove(listener);
    };
  }

  child(): CancellationToken {
    return new Token(undefined, this);
  }

  get signal(): AbortSignalLike {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      const { error } = this;
      if (error !== undefined) this.controller.abort(error);
      else if (!this.disposed) this.listen();
    }
    return this.controller.signal;
  }

  dispose(): void {
    this.disposed = true;
    this.leave();
    this.first = this.others = undefined;
    // What was so stays so: cancelled keeps its reason, and what happens above no longer matters.
    if (this.own === undefined) this.own = this.error;
    this.parent = undefined;
    this.outer = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private add(listener: Listener): void {
    this.listen();
    if (this.first === undefined && this.others === undefined) this.first = listener;
    else (this.others ??= new Set()).add(listener);
  }

  private remove(listener: Listener): void {
    if (this.first === listener) this.first = undefined;
    else this.others?.delete(listener);
    const isIdle = this.first === undefined && (this.others === undefined || this.others.size === 0);
    if (isIdle && this.controller === undefined) this.leave();
  }

  /** Begins to be told by the parent or the outer signal. */
  private listen(): void {
    const { outer, parent } = this;
    if (this.heard !== undefined) return;
    if (outer !== undefined) {
      const heard = (): void => this.fire(cancellationOf(outer));
      outer.addEventListener("abort", heard, { once: true });
      this.heard = heard;
    } else if (parent !== undefined) {
      const heard = (): void => {
        const { error } = parent;
        if (error !== undefined) this.fire(error);
      };
      parent.add(heard);
      this.heard = heard;
    }
  }

  private leave(): void {
    const { heard, outer, parent } = this;
    if (heard === undefined) return;
    this.heard = undefined;
    outer?.removeEventListener("abort", heard);
    parent?.remove(heard);
  }

  private fire(error: CancellationError): void {
    this.own ??= error;
    const { first, others = [] } = this;
    this.first = this.others = undefined;
    this.leave();
    this.controller?.abort(this.own);
    const failures: unknown[] = [];
    for (const listener of first === undefined ? others : [first, ...others]) {
      try {
        listener(this.own);
      } catch (failure) {
        failures.push(failure);
      }
    }
    // One broken callback must not keep the others from stopping; then it is heard.
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several callbacks of a cancellation failed");
  }
}

function noop(): void {}

/** Why a signal was aborted, as an error of ours: the reason itself where it is one already. */
export function cancellationOf(signal: Pick<AbortSignalLike, "reason">): CancellationError {
  const reason: unknown = signal.reason;
  if (isCancellation(reason)) return reason;
  const why =
    reason instanceof Error ? reason.message : typeof reason === "string" ? reason : "the signal was aborted";
  return new CancellationError({ reason: why, cause: reason });
}

export const CancellationToken: CancellationTokenConstructor = Token;
