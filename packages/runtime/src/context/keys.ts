/**
 * What the steps of one execution are called. Most are of the kind and name of the step before, or stand at the next place of the same
 * turn: neither needs to be looked up, which takes as long as hashing its text.
 */
export class Keys {
  private readonly counters = new Map<string, Counter>();
  private latest: Counter = { kind: "", name: "", what: "", n: 0 };
  private turn = -1;
  /** How often each place of that turn was taken. */
  private taken: number[] = [];

  /** `kind:name#n`, where n counts in this execution. */
  next(kind: string, name: string): string {
    let { latest } = this;
    if (latest.name !== name || latest.kind !== kind) this.latest = latest = this.counterOf(kind, name);
    return `${latest.what}#${++latest.n}`;
  }

  /** The key of a place in a turn, which is taken once, unless the turn is done in several batches. */
  place(turn: number, index: number): string {
    if (turn !== this.turn) {
      this.turn = turn;
      this.taken = [];
    }
    const n = (this.taken[index] ?? 0) + 1;
    this.taken[index] = n;
    const place = `tool:${turn}:${index}`;
    return n === 1 ? place : `${place}#${n}`;
  }

  private counterOf(kind: string, name: string): Counter {
    const what = `${kind}:${name}`;
    let counter = this.counters.get(what);
    if (counter === undefined) this.counters.set(what, (counter = { kind, name, what, n: 0 }));
    return counter;
  }
}

interface Counter {
  readonly kind: string;
  readonly name: string;
  readonly what: string;
  n: number;
}
