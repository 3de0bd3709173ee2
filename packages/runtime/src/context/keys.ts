/** Up to so many a look through all of them does. */
const FEW = 16;

/**
 * What the steps of one execution are called. Most are of the kind and name of the step before, or stand at the next place of the same
 * turn: neither needs to be looked up, which takes as long as hashing its text.
 */
export class Keys {
  private readonly counters: Counter[] = [];
  /** By kind and name, once there are many: a map for each run in flight would weigh 220 bytes. */
  private index: Map<string, Counter> | undefined;
  private latest: Counter = { kind: "", name: "", what: "", n: 0 };
  private turn = -1;
  /** The highest place of that turn so far. */
  private highest = -1;
  /** How often those below it were asked for again. */
  private again: Map<number, number> | undefined;

  /** `kind:name#n`, where n counts in this execution. */
  next(kind: string, name: string): string {
    let { latest } = this;
    if (latest.name !== name || latest.kind !== kind) this.latest = latest = this.counterOf(kind, name);
    return `${latest.what}#${++latest.n}`;
  }

  /** The key of a place in a turn. They are taken one after the other, from the first again where a turn has several batches. */
  place(turn: number, index: number): string {
    if (turn !== this.turn) {
      this.turn = turn;
      this.highest = -1;
      this.again = undefined;
    }
    const place = `tool:${turn}:${index}`;
    if (index > this.highest) {
      this.highest = index;
      return place;
    }
    const again = (this.again ??= new Map<number, number>());
    const n = (again.get(index) ?? 1) + 1;
    again.set(index, n);
    return `${place}#${n}`;
  }

  private counterOf(kind: string, name: string): Counter {
    const what = `${kind}:${name}`;
    const known = this.find(what);
    if (known !== undefined) return known;
    const counter = { kind, name, what, n: 0 };
    this.counters.push(counter);
    if (this.index === undefined && this.counters.length > FEW)
      this.index = new Map(this.counters.map((each) => [each.what, each]));
    else this.index?.set(what, counter);
    return counter;
  }

  private find(what: string): Counter | undefined {
    if (this.index !== undefined) return this.index.get(what);
    for (const counter of this.counters) if (counter.what === what) return counter;
    return undefined;
  }
}

interface Counter {
  readonly kind: string;
  readonly name: string;
  readonly what: string;
  n: number;
}
