/** Up to so many counters are searched one by one. */
const FEW = 16;

/**
 * Makes the keys of one execution's steps. Most steps have the kind and name of the step before, or the next place of the same turn:
 * neither is looked up, which would take as long as hashing its text.
 */
export class Keys {
  private counters: Counter[] = NONE;
  /** Counters by kind and name, once there are many: a map for each run in flight would take 220 bytes. */
  private index: Map<string, Counter> | undefined;
  private latest: Counter = { kind: "", name: "", what: "", n: 0 };
  private turn = -1;
  /** The highest place of that turn so far. */
  private highest = -1;
  /**
   * How often a place up to the highest was taken, if not exactly once. Hand-offs take no place, so there may be free ones between two
   * tools.
   */
  private taken: Map<number, number> | undefined;

  /** The next key `kind:name#n`, where n counts the steps of that kind and name in this execution. */
  next(kind: string, name: string): string {
    let { latest } = this;
    if (latest.name !== name || latest.kind !== kind) this.latest = latest = this.counterOf(kind, name);
    return `${latest.what}#${++latest.n}`;
  }

  /**
   * The key of a place in a turn. Places are taken in order, and again from the first if a turn has several batches: the second key of a
   * place ends in `#2`, and so on.
   */
  place(turn: number, index: number): string {
    if (turn !== this.turn) {
      this.turn = turn;
      this.highest = -1;
      this.taken = undefined;
    }
    const place = `tool:${turn}:${index}`;
    const n = index > this.highest ? this.takeNext(index) : this.takeAgain(index);
    return n === 1 ? place : `${place}#${n}`;
  }

  private takeNext(index: number): number {
    for (let free = this.highest + 1; free < index; free++) this.counts.set(free, 0);
    this.highest = index;
    return 1;
  }

  private takeAgain(index: number): number {
    const n = (this.counts.get(index) ?? 1) + 1;
    this.counts.set(index, n);
    return n;
  }

  private get counts(): Map<number, number> {
    return (this.taken ??= new Map());
  }

  private counterOf(kind: string, name: string): Counter {
    const what = `${kind}:${name}`;
    const known = this.find(what);
    if (known !== undefined) return known;
    const counter = { kind, name, what, n: 0 };
    // The first push onto an empty array allocates room for 17 elements, so it is created with its first one.
    if (this.counters === NONE) this.counters = [counter];
    else this.counters.push(counter);
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

const NONE: Counter[] = [];

interface Counter {
  readonly kind: string;
  readonly name: string;
  readonly what: string;
  n: number;
}
