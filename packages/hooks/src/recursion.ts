const MAX_DEPTH = 16;
const MAX_NESTED = 1_000;

/**
 * Bounds what listeners dispatch while they are called. Depth alone is not enough: ten listeners that each dispatch again
 * make 10^16 calls before they are sixteen deep.
 */
export class Recursion {
  private depth = 0;
  private nested = 0;

  /** False when it has gone too far; then `leave` is not to be called. */
  enter(): boolean {
    if (this.depth === 0) this.nested = 0;
    else if (this.depth >= MAX_DEPTH || this.nested >= MAX_NESTED) return false;
    else this.nested++;
    this.depth++;
    return true;
  }

  leave(): void {
    this.depth--;
  }
}
