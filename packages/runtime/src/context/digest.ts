import type { ChatMessage } from "@ravi/kernel";
import { codeAt } from "@ravi/kernel/loop";
const [C1, C2, C3, C4] = [0x239b961b, 0xab0e9789, 0x38b34ae5, 0xa1e38b93] as const;

/** Tags that come before each value, so that no two values are read as the same numbers. */
const TEXT = 0;
const NUMBER = 1;
const BOOLEAN = 2;
const NULL = 3;
const LIST = 4;
const OBJECT = 5;
const END = 6;
const KEY = 7;
const ENCODED_TEXT = 8;
/** A short text in a known field, whose number is added. */
const TEXT_FIELD = 8;
const KINDS = 16;

/** A text of up to so many characters is its own name. */
const SHORT = 27;
/** A text that is longer is read as UTF-8, four bytes at a time: of 400 characters that takes 0.25 µs instead of 1.4. */
const LONG = 64;
const encoder = new TextEncoder();
/** Where a long text is encoded, part by part. */
const bytes = new Uint8Array(16_384);
const words = new Uint32Array(bytes.buffer);

/** A value at this depth goes through JSON first, which throws a clear error for one that contains itself. */
const MAX_DEPTH = 32;

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/**
 * Makes a short name for a request: the same for the same request, and another for any other. It has to tell apart what a program asks by
 * mistake, and nobody gains from two requests with the same name; so it is made like MurmurHash3, directly from the values. A SHA-256 over
 * their JSON took 4 of the 16 µs of a turn with a journal ([record 17](../../../../docs/decisions/0017-names-of-requests.md)).
 */
export class Digest {
  private a = 0;
  private b = 0;
  private c = 0;
  private d = 0;

  text(text: string): this {
    if (text.length > LONG) return this.longText(text);
    this.mixTag(TEXT, text.length);
    if (text.length > 0) this.mixCharacters(text);
    return this;
  }

  private longText(text: string): this {
    // Half of a surrogate pair cannot be encoded.
    if (text.isWellFormed()) {
      this.mixTag(ENCODED_TEXT, text.length);
      this.mixEncoded(text);
    } else {
      this.mixTag(TEXT, text.length);
      this.mixCharacters(text);
    }
    return this;
  }

  /** Adds a value as JSON would write it: a message has the same name before it is recorded and after. */
  value(value: unknown): this {
    this.mixValue(plainOf(value, 0), 0);
    return this;
  }

  /** Adds a message like `value`. Written for what messages are made of: one place for objects of any kind is three times as slow. */
  message(message: ChatMessage): this {
    if (isPlainMessage(message)) this.mixFields(message, 1);
    else this.value(message);
    return this;
  }

  private mixCalls(calls: readonly unknown[], depth: number): void {
    this.mixTag(LIST, calls.length);
    for (let at = 0; at < calls.length; at++) {
      const call = calls[at];
      if (isPlainCall(call)) this.mixFields(call, depth + 1);
      else this.mixValue(plainOf(call, depth), depth);
    }
  }

  /** The name, 20 characters long, of this digest and another one together. */
  name(other = NOTHING): string {
    let a = this.a ^ other.a;
    let b = this.b ^ other.b;
    let c = this.c ^ other.c;
    let d = this.d ^ other.d;
    a = (a + b + c + d) | 0;
    b = finalMix((b + a) | 0);
    c = finalMix((c + a) | 0);
    d = finalMix((d + a) | 0);
    a = (finalMix(a) + b + c + d) | 0;
    return letters(a, (b + a) | 0, (c + a) | 0, (d + a) | 0);
  }

  private mixValue(value: unknown, depth: number): void {
    if (typeof value === "string") this.text(value);
    else if (typeof value === "object" && value !== null) this.mixFields(value, depth + 1);
    else if (typeof value === "number") this.mixNumber(String(value));
    else if (typeof value === "boolean") this.mixTag(BOOLEAN, value ? 1 : 0);
    else this.mixTag(NULL, 0);
  }

  private mixFields(value: object, depth: number): void {
    if (Array.isArray(value)) {
      this.mixTag(LIST, value.length);
      const list: readonly unknown[] = value;
      // By index: `for of` allocates two objects for each item wherever V8 does not inline it.
      for (let at = 0; at < list.length; at++) this.mixValue(plainOf(list[at], depth), depth);
      return;
    }
    this.mixTag(OBJECT, 0);
    for (const key in value) {
      const given: unknown = value[key as keyof typeof value];
      const known = knownKey(key);
      // Nearly all fields are texts, which need no further questions.
      if (typeof given === "string") this.mixTextField(key, known, given);
      else this.mixField(key, known, given, depth);
    }
    this.mixTag(END, 0);
  }

  private mixTextField(key: string, known: number, text: string): void {
    if (known === 0 || text.length > LONG) {
      this.mixKey(key, known);
      this.text(text);
      return;
    }
    this.mixTag(TEXT_FIELD + known, text.length);
    if (text.length > 0) this.mixCharacters(text);
  }

  private mixField(key: string, known: number, given: unknown, depth: number): void {
    if (known === TOOL_CALLS && Array.isArray(given) && given.length > 0 && isPlain(given)) {
      this.mixKey(key, known);
      this.mixCalls(given, depth + 1);
      return;
    }
    const field = plainOf(given, depth);
    if (field === undefined) return;
    // What becomes a text when it is written, such as a date.
    if (typeof field === "string") {
      this.mixTextField(key, known, field);
      return;
    }
    this.mixKey(key, known);
    this.mixValue(field, depth);
  }

  private mixKey(key: string, known: number): void {
    if (known === 0) this.text(key);
    else this.mixTag(KEY, known);
  }

  private mixNumber(digits: string): void {
    this.mixTag(NUMBER, digits.length);
    this.mixCharacters(digits);
  }

  private mixTag(kind: number, count: number): void {
    const { a, b, c, d } = this;
    const k = Math.imul(count * KINDS + kind, C3);
    const mixed = a ^ Math.imul((k << 17) | (k >>> 15), C4);
    this.a = b;
    this.b = c;
    this.c = d;
    this.d = (Math.imul(((mixed << 15) | (mixed >>> 17)) + b, 5) + 0x96cd1c35) | 0;
  }

  /** Adds eight characters at a time, two to each of the four numbers, and the rest two at a time, to each number in turn. */
  private mixCharacters(text: string): void {
    let { a, b, c, d } = this;
    const { length } = text;
    let at = 0;
    for (; at + 8 <= length; at += 8) {
      let k = Math.imul(codeAt(text, at) | (codeAt(text, at + 1) << 16), C1);
      a ^= Math.imul((k << 15) | (k >>> 17), C2);
      a = (Math.imul(((a << 19) | (a >>> 13)) + b, 5) + 0x561ccd1b) | 0;
      k = Math.imul(codeAt(text, at + 2) | (codeAt(text, at + 3) << 16), C2);
      b ^= Math.imul((k << 16) | (k >>> 16), C3);
      b = (Math.imul(((b << 17) | (b >>> 15)) + c, 5) + 0x0bcaa747) | 0;
      k = Math.imul(codeAt(text, at + 4) | (codeAt(text, at + 5) << 16), C3);
      c ^= Math.imul((k << 17) | (k >>> 15), C4);
      c = (Math.imul(((c << 15) | (c >>> 17)) + d, 5) + 0x96cd1c35) | 0;
      k = Math.imul(codeAt(text, at + 6) | (codeAt(text, at + 7) << 16), C4);
      d ^= Math.imul((k << 18) | (k >>> 14), C1);
      d = (Math.imul(((d << 13) | (d >>> 19)) + a, 5) + 0x32ac3b17) | 0;
    }
    for (; at < length; at += 2) {
      const next = at + 1 < length ? codeAt(text, at + 1) << 16 : 0;
      const k = Math.imul(codeAt(text, at) | next, C1);
      const mixed = a ^ Math.imul((k << 15) | (k >>> 17), C2);
      [a, b, c] = [b, c, d];
      d = (Math.imul(((mixed << 19) | (mixed >>> 13)) + a, 5) + 0x561ccd1b) | 0;
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }

  /** Adds four words at a time, one to each of the four numbers. The last part is filled up with zeros. */
  private mixEncoded(text: string): void {
    for (let rest = text; rest.length > 0;) {
      const { read, written } = encoder.encodeInto(rest, bytes);
      const end = (written + 15) & ~15;
      bytes.fill(0, written, end);
      this.mixWords(end >>> 2);
      rest = read === rest.length ? "" : rest.slice(read);
      // A part may be a few bytes shorter than there is room for, and another one may have zeros there.
      if (rest !== "") this.mixTag(ENCODED_TEXT, written);
    }
  }

  private mixWords(count: number): void {
    let { a, b, c, d } = this;
    for (let at = 0; at < count; at += 4) {
      let k = Math.imul(words[at] ?? 0, C1);
      a ^= Math.imul((k << 15) | (k >>> 17), C2);
      a = (Math.imul(((a << 19) | (a >>> 13)) + b, 5) + 0x561ccd1b) | 0;
      k = Math.imul(words[at + 1] ?? 0, C2);
      b ^= Math.imul((k << 16) | (k >>> 16), C3);
      b = (Math.imul(((b << 17) | (b >>> 15)) + c, 5) + 0x0bcaa747) | 0;
      k = Math.imul(words[at + 2] ?? 0, C3);
      c ^= Math.imul((k << 17) | (k >>> 15), C4);
      c = (Math.imul(((c << 15) | (c >>> 17)) + d, 5) + 0x96cd1c35) | 0;
      k = Math.imul(words[at + 3] ?? 0, C4);
      d ^= Math.imul((k << 18) | (k >>> 14), C1);
      d = (Math.imul(((d << 13) | (d >>> 19)) + a, 5) + 0x32ac3b17) | 0;
    }
    this.a = a;
    this.b = b;
    this.c = c;
    this.d = d;
  }
}

const NOTHING = new Digest();
const LETTERS = Array.from(ALPHABET, (one) => one.charCodeAt(0));

/** A name for a text, short enough to be recorded with every call. */
export function nameOfText(text: string): string {
  return text.length <= SHORT ? text : new Digest().text(text).name();
}

const TOOL_CALLS = 3;

/** A number up to 7 for a field that nearly every message has; 0 for any other. Reading the names of those fields would be half of the work. */
function knownKey(key: string): number {
  switch (key) {
    case "role":
      return 1;
    case "content":
      return 2;
    case "toolCalls":
      return TOOL_CALLS;
    case "toolCallId":
      return 4;
    case "id":
      return 5;
    case "name":
      return 6;
    case "arguments":
      return 7;
    default:
      return 0;
  }
}

/** The value as JSON would write it; undefined if JSON leaves it out. */
function plainOf(value: unknown, depth: number): unknown {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "object" && depth !== MAX_DEPTH && isPlain(value)) return value;
  if (typeof value !== "object" && typeof value !== "bigint") return undefined;
  const text: string | undefined = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}

// The same question three times: V8 looks up a method that objects of few shapes might have within compiled code, and of many outside.

function isPlainMessage(message: ChatMessage): boolean {
  return (
    typeof message === "object" &&
    message !== null &&
    (message as Convertible).toJSON === undefined &&
    Object.getPrototypeOf(message) === Object.prototype
  );
}

function isPlainCall(call: unknown): call is object {
  return (
    typeof call === "object" &&
    call !== null &&
    (call as Convertible).toJSON === undefined &&
    Object.getPrototypeOf(call) === Object.prototype
  );
}

type Convertible = { readonly toJSON?: unknown };

/** Whether JSON writes its fields and nothing else. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) return false;
  return (value as Convertible).toJSON === undefined;
}

function letter(bits: number): number {
  return LETTERS[bits & 63] ?? 0;
}

/** Thirty bits of each number. In one call, because V8 would keep a concatenated text as a tree of its parts. */
function letters(a: number, b: number, c: number, d: number): string {
  return String.fromCharCode(
    letter(a),
    letter(a >>> 6),
    letter(a >>> 12),
    letter(a >>> 18),
    letter(a >>> 24),
    letter(b),
    letter(b >>> 6),
    letter(b >>> 12),
    letter(b >>> 18),
    letter(b >>> 24),
    letter(c),
    letter(c >>> 6),
    letter(c >>> 12),
    letter(c >>> 18),
    letter(c >>> 24),
    letter(d),
    letter(d >>> 6),
    letter(d >>> 12),
    letter(d >>> 18),
    letter(d >>> 24),
  );
}

/** Mixes the bits, so that each of them affects all others. */
function finalMix(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
