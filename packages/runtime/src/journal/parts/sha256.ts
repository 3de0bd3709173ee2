/** The SHA-256 of bytes, or of a text as UTF-8, in hex. For places without `node:crypto`: the one of a browser does not answer at once. */
export function sha256(data: string | Uint8Array): string {
  const { initial, rounds } = (constants ??= makeConstants());
  const state = initial.slice();
  const blocks = padded(typeof data === "string" ? new TextEncoder().encode(data) : data);
  for (let at = 0; at < blocks.byteLength; at += 64) addBlock(state, blocks, at, rounds);
  return Array.from(state, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** Followed by a one bit, zeros and the length in bits, up to a whole number of blocks. */
function padded(bytes: Uint8Array): DataView {
  const whole = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
  whole.set(bytes);
  whole[bytes.length] = 0x80;
  const view = new DataView(whole.buffer);
  view.setBigUint64(whole.length - 8, BigInt(bytes.length) * 8n);
  return view;
}

/** The 64 words of a block: its own 16, and those made of them. */
const words = new Int32Array(64);

function addBlock(state: Uint32Array, blocks: DataView, from: number, rounds: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < 64; at++) {
    const word = at < 16 ? blocks.getInt32(from + at * 4) : made(at);
    words[at] = word;
    const mixed = (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g));
    const first = (h + mixed + (rounds[at] ?? 0) + word) | 0;
    const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] ?? 0) + word;
}

function made(at: number): number {
  const low = words[at - 15] ?? 0;
  const high = words[at - 2] ?? 0;
  const mixed =
    (turn(low, 7) ^ turn(low, 18) ^ (low >>> 3)) + (turn(high, 17) ^ turn(high, 19) ^ (high >>> 10));
  return ((words[at - 16] ?? 0) + (words[at - 7] ?? 0) + mixed) | 0;
}

function turn(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

interface Constants {
  readonly initial: Uint32Array;
  readonly rounds: Int32Array;
}

let constants: Constants | undefined;

/** The first 32 bits of fractions: of the square roots of the first 8 primes, and of the cube roots of the first 64. */
function makeConstants(): Constants {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  const fraction = (root: number): number => (root % 1) * 2 ** 32;
  return {
    initial: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    rounds: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
  };
}
