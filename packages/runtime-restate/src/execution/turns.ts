/** A place in the order in which the calls of a batch were asked for. */
export interface Turn {
  /** Until everybody before it has asked, or need not ask. */
  come(): Promise<void>;
  /** It has asked, or need not: what is on record is not asked for again. */
  pass(): void;
}

/**
 * The engine begins the closures of a batch in any order. Money and tool calls are given to those who ask first, so they ask in
 * the order of the batch, as they do in one process.
 */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  next(): Turn {
    const before = this.last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.last = Promise.all([before, promise]);
    return {
      come: async () => void (await before),
      pass: resolve,
    };
  }
}
