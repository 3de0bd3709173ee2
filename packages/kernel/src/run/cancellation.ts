import { isError } from "../core/is-error.ts";
import { checkSignal } from "../core/check.ts";
import { type Linked, LinkedList } from "../core/linked.ts";
import type { AbortSignalLike } from "../core/types.ts";
import { CancellationError } from "../errors/errors.ts";
import { isCancellation } from "../errors/is.ts";
import { leaveSignal } from "./leave-signal.ts";

/**
 * A token for cooperative cancellation. Cancelling a token cancels its children, never its parent, and the first reason stays. A
 * child is registered at its parent only while somebody listens on it (`signal`, `wait`, `onCancel`); `dispose` removes it.
 */
export interface CancellationToken {
  /** Cancels this token and its children. Only the first call counts. */
  cancel(reason?: string | Error): void;
  readonly isCancelled: boolean;
  /** Why it was cancelled; undefined while it is not. */
  readonly reason: string | undefined;
  /** The error that `check` throws and the signal has as its reason; undefined while it is not cancelled. */
  readonly error: CancellationError | undefined;
  /** Throws the `CancellationError` if cancelled. */
  check(): void;
  /** Resolves with the reason when cancelled. Never settles if the token is disposed first. */
  wait(): Promise<string>;
  /**
   * Calls back once when cancelled; immediately if it already is. Returns a function that removes the callback. If the token is
   * disposed first, `onDispose` is called instead, so that the listener can release what it holds.
   */
  onCancel(callback: (error: CancellationError) => void, onDispose?: () => void): () => void;
  /** A token that is cancelled together with this one, and can also be cancelled alone. */
  child(): CancellationToken;
  /** An `AbortSignal` of this token. Created when first read. */
  readonly signal: AbortSignalLike;
  /** Detaches from the parent or the outer signal, and drops all callbacks. */
  dispose(): void;
  [Symbol.dispose](): void;
}

export interface CancellationTokenConstructor {
  /** If a signal is given, the token is cancelled when the signal aborts. */
  new (outer?: AbortSignalLike): CancellationToken;
}

const NO_LISTENERS: readonly Listener[] = Object.freeze([]);

/** A listener: a callback, or a child token. An object, because a closure for each would be kept by every run in flight. */
interface Listener extends Linked<Listener> {
  notify(error: CancellationError): void;
  /** Called when the token is disposed. */
  onDispose?(): void;
}

class Callback implements Listener {
  before: Listener | undefined;
  after: Listener | undefined;
  /** False once it was removed, possibly by another callback while all are being called. */
  isActive = true;
  private readonly callback: (error: CancellationError) => void;

  constructor(callback: (error: CancellationError) => void) {
    this.callback = callback;
  }

  notify(error: CancellationError): void {
    if (this.isActive) this.callback(error);
  }
}

/** A class of its own, because `onDispose` is rare, and the field would make every callback larger. */
class DisposableCallback extends Callback {
  readonly onDispose: () => void;

  constructor(callback: (error: CancellationError) => void, onDispose: () => void) {
    super(callback);
    this.onDispose = onDispose;
  }
}

class Token implements CancellationToken, Listener {
  before: Listener | undefined;
  after: Listener | undefined;
  private parent: Token | undefined;
  private own: CancellationError | undefined;
  /** Nearly every token has at most one listener, which needs no list. */
  private first: Listener | undefined;
  private others: LinkedList<Listener> | undefined;
  private controller: AbortController | undefined;
  /** Whether it is registered at the parent or the outer signal. Not so while nobody listens to this token. */
  private isListening = false;
  /** The listener on the outer signal. */
  private onOuterAbort: (() => void) | undefined;
  private outer: AbortSignalLike | undefined;
  private disposed = false;

  constructor(outer?: AbortSignalLike, parent?: Token) {
    this.outer = outer === undefined ? undefined : checkSignal("signal", outer);
    this.parent = parent;
  }

  /** Looks up the chain of parents for a cancellation, and remembers it. */
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

  cancel(reason?: string | Error): void {
    if (this.disposed || this.error !== undefined) return;
    const why = reason ?? "no reason given";
    this.fire(
      typeof why === "string" ? new CancellationError({ reason: why }) : cancellationOf({ reason: why }),
    );
  }

  check(): void {
    const { error } = this;
    if (error !== undefined) throw error;
  }

  wait(): Promise<string> {
    return new Promise((resolve) => this.onCancel((error) => resolve(error.reason)));
  }

  onCancel(callback: (error: CancellationError) => void, onDispose?: () => void): () => void {
    const { error } = this;
    if (error !== undefined) {
      callback(error);
      return noop;
    }
    if (this.disposed) {
      onDispose?.();
      return noop;
    }
    // Wrapped in an object, so that the same callback may be added twice and removed separately.
    const listener =
      onDispose === undefined ? new Callback(callback) : new DisposableCallback(callback, onDispose);
    this.add(listener);
    return () => {
      listener.isActive = false;
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
    const listeners = this.takeListeners();
    // The state is kept: a cancelled token keeps its reason, and later changes of the parent no longer matter.
    if (this.own === undefined) this.own = this.error;
    this.parent = undefined;
    this.outer = undefined;
    // Most tokens have no listeners left, and `for of` over a frozen list leaves compiled code.
    if (listeners !== NO_LISTENERS) for (const listener of listeners) listener.onDispose?.();
    if (this.own === undefined) return;
    // The parent may have been cancelled just now, before this token was notified. Then the signal and the child tokens still
    // have to be.
    this.controller?.abort(this.own);
    notifyAll(
      listeners.filter((listener) => listener instanceof Token),
      this.own,
    );
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private add(listener: Listener): void {
    this.listen();
    if (this.first === undefined && this.others === undefined) this.first = listener;
    else (this.others ??= new LinkedList()).add(listener);
  }

  private remove(listener: Listener): void {
    if (this.first === listener) this.first = undefined;
    else this.others?.delete(listener);
    const isIdle = this.first === undefined && this.others?.isEmpty !== false;
    if (isIdle && this.controller === undefined) this.leave();
  }

  /** Registers at the parent or the outer signal. */
  private listen(): void {
    const { outer, parent } = this;
    if (this.isListening) return;
    this.isListening = true;
    if (outer !== undefined) {
      // Assigned to a constant first: see docs/decisions/0012.
      const onOuterAbort = (): void => {
        // A signal that could not be left still calls.
        if (this.onOuterAbort === onOuterAbort) this.fire(cancellationOf(outer));
      };
      this.onOuterAbort = onOuterAbort;
      outer.addEventListener("abort", onOuterAbort, { once: true });
    } else {
      parent?.add(this);
    }
  }

  /** Called by the parent. */
  notify(error: CancellationError): void {
    if (this.isListening) this.fire(error);
  }

  private leave(): void {
    const { onOuterAbort, outer, parent } = this;
    if (!this.isListening) return;
    this.isListening = false;
    this.onOuterAbort = undefined;
    if (onOuterAbort !== undefined && outer !== undefined) leaveSignal(outer, onOuterAbort);
    parent?.remove(this);
  }

  private fire(error: CancellationError): void {
    this.own ??= error;
    const listeners = this.takeListeners();
    this.leave();
    this.controller?.abort(this.own);
    notifyAll(listeners, this.own);
  }

  private takeListeners(): readonly Listener[] {
    const { first, others } = this;
    this.first = this.others = undefined;
    if (others === undefined) return first === undefined ? NO_LISTENERS : [first];
    return first === undefined ? others.takeAll() : [first, ...others.takeAll()];
  }
}

/** A callback that throws must not keep the others from being called; its error is thrown at the end. */
function notifyAll(listeners: Iterable<Listener>, error: CancellationError): void {
  const failures: unknown[] = [];
  for (const listener of listeners) {
    try {
      listener.notify(error);
    } catch (failure) {
      failures.push(failure);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, "several cancellation callbacks failed");
}

function noop(): void {}

/** The reason of an aborted signal as a `CancellationError`; the reason itself if it is one. */
export function cancellationOf(signal: Pick<AbortSignalLike, "reason">): CancellationError {
  const reason: unknown = signal.reason;
  if (isCancellation(reason)) return reason;
  const text = wordsOf(reason);
  const why = typeof text === "string" ? text : "the signal was aborted";
  return new CancellationError({ reason: why, cause: reason });
}

function wordsOf(reason: unknown): unknown {
  try {
    // Next aborts with an error that has a name and no message.
    return isError(reason) ? reason.message || reason.name : reason;
  } catch {
    // Any object may throw when it is read. Here nobody would catch that, and it would end the process.
    return undefined;
  }
}

/** Makes a token: `new CancellationToken()`, or `new CancellationToken(signal)` to follow a signal. */
export const CancellationToken: CancellationTokenConstructor = Token;
