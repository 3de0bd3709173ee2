/** A place in the order of the calls of a batch. */
export interface AdmissionTurn {
  /** Resolves when all calls before it have asked, or need not ask. */
  reached(): Promise<void>;
  /** This call has asked, or need not: a recorded call does not ask again. */
  pass(): void;
}

/**
 * Makes the calls of a batch ask for admission, and for answers, in the order of the batch, as they do in one process. The SDK starts
 * closures in any order, and the root gives money, or the value that was delivered, to the first that asks.
 */
export class AdmissionOrder {
  private last: Promise<unknown> = Promise.resolve();

  next(): AdmissionTurn {
    const before = this.last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.last = Promise.all([before, promise]);
    return {
      reached: async () => void (await before),
      pass: resolve,
    };
  }
}
