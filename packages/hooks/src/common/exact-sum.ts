/** A sum of many small amounts without drift (Neumaier's algorithm): a million times $0.000001 is $1. */
export class ExactSum {
  private sum = 0;
  /** The accumulated rounding error. */
  private lost = 0;

  add(amount: number): void {
    const next = this.sum + amount;
    this.lost += Math.abs(this.sum) >= Math.abs(amount) ? this.sum - next + amount : amount - next + this.sum;
    this.sum = next;
  }

  /** Rounded to 15 digits, so that $0.1 + $0.2 is $0.3: the amounts are decimal, and binary only approximates them. */
  get value(): number {
    return Number((this.sum + this.lost).toPrecision(15));
  }
}
