/** How likely each fault is, wherever it may happen. */
const RATE = 0.01;

/** From 0 to 1, and the same for the same names: so a fault does not depend on which call comes first. */
export function chance(...names: readonly (string | number)[]): number {
  let hash = 0x81_1c_9d_c5;
  for (const letter of names.join("|")) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01_00_01_93);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85_eb_ca_6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2_b2_ae_35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

/** One of the faults, each in one case of a hundred; mostly none. */
export function faultOf<T>(faults: readonly T[], ...names: readonly (string | number)[]): T | undefined {
  return faults[Math.floor(chance(...names) / RATE)];
}

/** From `from` to `to`, both included. */
export function wholeOf(from: number, to: number, ...names: readonly (string | number)[]): number {
  return from + Math.floor(chance(...names) * (to - from + 1));
}
