/** A sum of many small amounts without drift (Neumaier): a million times $0.000001 is $1. */
export class ExactSum {
  private sum = 0;
  /** What rounding took from the sum so far. */
  private lost = 0;

  add(amount: number): void {
    const next = this.sum + amount;
    this.lost += Math.abs(this.sum) >= Math.abs(amount) ? this.sum - next + amount : amount - next + this.sum;
    this.sum = next;
  }

  /** To 15 digits, so that $0.1 and $0.2 are $0.3: the amounts were decimal before they were binary. */
  get value(): number {
    return Number((this.sum + this.lost).toPrecision(15));
  }
}
