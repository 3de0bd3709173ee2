/**
 * FNV-1a with 64 bits, enough to notice a redaction; the signature protects against deliberate changes. It is recorded beside the
 * signatures, so its result must never change. Computed in two 32-bit halves, because a BigInt operation per byte costs far more.
 */
export function fingerprint(text: string): string {
  const bytes = new TextEncoder().encode(text);
  let high = 0xcbf29ce4 | 0;
  let low = 0x84222325 | 0;
  for (let at = 0; at < bytes.length; at++) {
    low ^= bytes[at] ?? 0;
    // Multiplies by 2^40 + 0x1b3. The first term moves the lower half up by 8 bits; `carry` is what the second one carries from the
    // lower half to the upper.
    const carry = (Math.imul(low >>> 16, 0x1b3) + (Math.imul(low & 0xffff, 0x1b3) >>> 16)) >>> 16;
    high = (Math.imul(high, 0x1b3) + carry + (low << 8)) | 0;
    low = Math.imul(low, 0x1b3);
  }
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)).toString(36);
}
