/**
 * 64 bits of FNV-1a, enough to notice a redaction; the signature is what guards against more. It is on record beside the
 * signatures, so it stays what it is. In two halves, as a long integer for every byte costs far more.
 */
export function fingerprint(text: string): string {
  const bytes = Buffer.from(text, "utf8");
  let high = 0xcbf29ce4 | 0;
  let low = 0x84222325 | 0;
  for (let at = 0; at < bytes.length; at++) {
    low ^= bytes[at] ?? 0;
    // Times 2^40 + 0x1b3. The former moves the lower half up by 8 bits; of the latter this is what the lower half carries over.
    const carry = (Math.imul(low >>> 16, 0x1b3) + (Math.imul(low & 0xffff, 0x1b3) >>> 16)) >>> 16;
    high = (Math.imul(high, 0x1b3) + carry + (low << 8)) | 0;
    low = Math.imul(low, 0x1b3);
  }
  return ((BigInt(high >>> 0) << 32n) | BigInt(low >>> 0)).toString(36);
}
