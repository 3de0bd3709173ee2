const MAX_DEPTH = 16;
const MAX_NESTED = 1_000;

/**
 * Limits what listeners dispatch while they are being called. A limit on the depth alone is not enough: ten listeners that each dispatch
 * again make 10^16 calls before the depth is 16.
 */
export class Recursion {
  private depth = 0;
  private nested = 0;

  /** False if a limit is reached; then do not call `leave`. */
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
