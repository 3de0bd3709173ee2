import { checkSignal } from "../core/check.ts";
import { type Linked, LinkedList } from "../core/linked.ts";
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
  /**
   * Calls back once when cancelled, at once when it already is. Returns how to take the callback off. `onDispose` is called
   * instead where the token is disposed of first, so that whoever listens can give back what it holds meanwhile.
   */
  onCancel(callback: (error: CancellationError) => void, onDispose?: () => void): () => void;
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

const NOBODY: readonly Listener[] = Object.freeze([]);

/** Whoever is told: a callback, or a token below. An object, as a closure for each would be kept by every run in flight. */
interface Listener extends Linked<Listener> {
  hear(error: CancellationError): void;
  /** The token was disposed of. */
  forget?(): void;
}

class Callback implements Listener {
  before: Listener | undefined;
  after: Listener | undefined;
  /** False once it was taken off, also by another while all are called. */
  isOn = true;
  private readonly callback: (error: CancellationError) => void;

  constructor(callback: (error: CancellationError) => void) {
    this.callback = callback;
  }

  hear(error: CancellationError): void {
    if (this.isOn) this.callback(error);
  }
}

/** Apart, as nearly nobody wants to know, and every callback would be larger for it. */
class KeptCallback extends Callback {
  readonly forget: () => void;

  constructor(callback: (error: CancellationError) => void, forget: () => void) {
    super(callback);
    this.forget = forget;
  }
}

class Token implements CancellationToken, Listener {
  before: Listener | undefined;
  after: Listener | undefined;
  private parent: Token | undefined;
  private own: CancellationError | undefined;
  /** Nearly every token has one listener at most, and needs no list for it. */
  private first: Listener | undefined;
  private others: LinkedList<Listener> | undefined;
  private controller: AbortController | undefined;
  /** Whether the parent or the outer signal tells it; not so while nobody listens here. */
  private isListening = false;
  /** What the outer signal calls. */
  private heard: (() => void) | undefined;
  private outer: AbortSignalLike | undefined;
  private disposed = false;

  constructor(outer?: AbortSignalLike, parent?: Token) {
    this.outer = outer === undefined ? undefined : checkSignal("signal", outer);
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
    // Wrapped, so that the same callback may be added twice and each taken off by itself.
    const listener = onDispose === undefined ? new Callback(callback) : new KeptCallback(callback, onDispose);
    this.add(listener);
    return () => {
      listener.isOn = false;
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
    // What was so stays so: cancelled keeps its reason, and what happens above no longer matters.
    if (this.own === undefined) this.own = this.error;
    this.parent = undefined;
    this.outer = undefined;
    // Most have nobody left, and `for of` leaves compiled code for a frozen list.
    if (listeners !== NOBODY) for (const listener of listeners) listener.forget?.();
    if (this.own === undefined) return;
    // It may have been cancelled from above just now, and not have been told yet: whoever holds the signal is, and the tokens below.
    this.controller?.abort(this.own);
    tellAll(
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

  /** Begins to be told by the parent or the outer signal. */
  private listen(): void {
    const { outer, parent } = this;
    if (this.isListening) return;
    this.isListening = true;
    if (outer !== undefined) {
      // A constant first: see docs/decisions/0012.
      const heard = (): void => this.fire(cancellationOf(outer));
      this.heard = heard;
      outer.addEventListener("abort", heard, { once: true });
    } else {
      parent?.add(this);
    }
  }

  /** From the parent. */
  hear(error: CancellationError): void {
    if (this.isListening) this.fire(error);
  }

  private leave(): void {
    const { heard, outer, parent } = this;
    if (!this.isListening) return;
    this.isListening = false;
    this.heard = undefined;
    if (heard !== undefined) outer?.removeEventListener("abort", heard);
    parent?.remove(this);
  }

  private fire(error: CancellationError): void {
    this.own ??= error;
    const listeners = this.takeListeners();
    this.leave();
    this.controller?.abort(this.own);
    tellAll(listeners, this.own);
  }

  private takeListeners(): readonly Listener[] {
    const { first, others } = this;
    this.first = this.others = undefined;
    if (others === undefined) return first === undefined ? NOBODY : [first];
    return first === undefined ? others.takeAll() : [first, ...others.takeAll()];
  }
}

/** One broken callback must not keep the others from stopping; then it is heard. */
function tellAll(listeners: Iterable<Listener>, error: CancellationError): void {
  const failures: unknown[] = [];
  for (const listener of listeners) {
    try {
      listener.hear(error);
    } catch (failure) {
      failures.push(failure);
    }
  }
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, "several callbacks of a cancellation failed");
}

function noop(): void {}

/** Why a signal was aborted, as an error of ours: the reason itself where it is one already. */
export function cancellationOf(signal: Pick<AbortSignalLike, "reason">): CancellationError {
  const reason: unknown = signal.reason;
  if (isCancellation(reason)) return reason;
  const text: unknown = reason instanceof Error ? reason.message : reason;
  const why = typeof text === "string" ? text : "the signal was aborted";
  return new CancellationError({ reason: why, cause: reason });
}

export const CancellationToken: CancellationTokenConstructor = Token;
