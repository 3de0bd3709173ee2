import type { TextFilter } from "./filter.ts";
import { type Detector, isAlphanumeric, Reader } from "./reader.ts";

export interface ScannerOptions {
  readonly detectors: readonly Detector[];
  /** What stands in the place of a found one. `value` is its beginning where it has a tail. May throw, to stop. */
  readonly replace: (kind: string, value: string) => string;
  /** The text is JSON: escapes are left whole, and what is replaced outside of a string becomes a string. */
  readonly json?: boolean | undefined;
  /** Given by a test to count reads. */
  readonly reader?: Reader | undefined;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const NOTHING_BEFORE = SPACE;

/** Goes over a text once, from left to right, and replaces what the detectors find; the first in their list wins. */
export function createScanner(options: ScannerOptions): TextFilter {
  return new Scanner(options);
}

class Scanner implements TextFilter {
  private readonly options: ScannerOptions;
  private readonly plan: ScanPlan;
  private readonly reader: Reader;
  /** Up to where each detector has said that nothing begins. */
  private readonly clear: number[];
  private before = NOTHING_BEFORE;
  private inString = false;
  private tail: Detector["tail"];

  constructor(options: ScannerOptions) {
    this.options = options;
    this.plan = planOf(options.detectors);
    this.reader = options.reader ?? new Reader();
    this.clear = options.detectors.map(() => 0);
  }

  push(text: string): string {
    if (text === "") return "";
    this.reader.text += text;
    return this.scan(false);
  }

  end(): string {
    const rest = this.scan(true);
    this.before = NOTHING_BEFORE;
    this.inString = false;
    this.tail = undefined;
    return rest;
  }

  private scan(isLast: boolean): string {
    const { text } = this.reader;
    let out = "";
    let copied = 0;
    let at = 0;
    for (let step = 1; at < text.length && step > 0;) {
      if (this.tail !== undefined) {
        step = this.tailLength(text, at, isLast);
        // A tail is dropped, not copied.
        copied = at += Math.max(step, 0);
        if (step !== 0) continue;
        this.tail = undefined;
        step = 1;
      }
      const code = text.charCodeAt(at);
      if (this.options.json === true && code === BACKSLASH) {
        step = escapeLength(text, at, isLast);
        at += step;
        this.before = NOTHING_BEFORE;
        continue;
      }
      const found = this.find(code, at, isLast);
      if (found === UNSURE) break;
      if (found === undefined) {
        if (code === QUOTE) this.inString = !this.inString;
        this.before = code;
        at++;
        continue;
      }
      const end = at + found.length;
      out += text.slice(copied, at) + this.placeholder(found.detector.kind, text.slice(at, end));
      this.before = text.charCodeAt(end - 1);
      this.tail = found.detector.tail;
      copied = at = end;
    }
    out += text.slice(copied, at);
    this.reader.text = text.slice(at);
    for (let index = 0; index < this.clear.length; index++)
      this.clear[index] = Math.max(0, (this.clear[index] ?? 0) - at);
    return out;
  }

  private find(code: number, at: number, isLast: boolean): Found | typeof UNSURE | undefined {
    const lists = isAlphanumeric(this.before) ? this.plan.insideWord : this.plan.elsewhere;
    const candidates = code < 128 ? lists[code] : this.plan.wide.get(code);
    if (candidates === undefined) return undefined;
    for (const index of candidates) {
      const detector = this.options.detectors[index];
      if (detector === undefined || (this.clear[index] ?? 0) > at) continue;
      this.reader.ranShort = false;
      const length = detector.match(this.reader, at, this.before);
      if (this.reader.ranShort && !isLast) return UNSURE;
      if (length > 0) return { detector, length };
      if (length < 0) this.clear[index] = at - length;
    }
    return undefined;
  }

  private placeholder(kind: string, value: string): string {
    const text = this.options.replace(kind, value);
    return this.options.json === true && !this.inString && text !== "" ? `"${text}"` : text;
  }

  /** How many characters belong to the tail here: 0 when it is over, -1 when that is not known yet. */
  private tailLength(text: string, at: number, isLast: boolean): number {
    const code = text.charCodeAt(at);
    if (this.tail?.(code) !== true) return 0;
    if (this.options.json === true && code === BACKSLASH) {
      if (at + 1 >= text.length && !isLast) return -1;
      const escaped = text.charAt(at + 1);
      return escaped === "n" || escaped === "r" ? 2 : 0;
    }
    this.before = code;
    return 1;
  }
}

interface Found {
  readonly detector: Detector;
  readonly length: number;
}

const UNSURE = "unsure";

/** `\n` or `\u0041` as a whole; 0 when its end has not come yet. */
function escapeLength(text: string, at: number, isLast: boolean): number {
  const length = text.charAt(at + 1) === "u" ? 6 : 2;
  if (at + length <= text.length) return length;
  return isLast ? text.length - at : 0;
}

/** Which detectors (by their index) can begin with which character. Made once for a list of detectors. */
interface ScanPlan {
  readonly insideWord: readonly (readonly number[] | undefined)[];
  readonly elsewhere: readonly (readonly number[] | undefined)[];
  /** Characters beyond ASCII, which only literals begin with. */
  readonly wide: ReadonlyMap<number, readonly number[]>;
}

const plans = new WeakMap<readonly Detector[], ScanPlan>();

function planOf(detectors: readonly Detector[]): ScanPlan {
  const known = plans.get(detectors);
  if (known !== undefined) return known;
  const candidates = (code: number, insideWord: boolean): readonly number[] | undefined => {
    const char = String.fromCharCode(code);
    const fitting = detectors.flatMap(({ starts, startsWord }, index) =>
      starts.includes(char) && !(insideWord && startsWord) ? [index] : [],
    );
    return fitting.length === 0 ? undefined : fitting;
  };
  const ascii = Array.from({ length: 128 }, (_, code) => code);
  const wide = new Map<number, readonly number[]>();
  for (const { starts } of detectors) {
    for (let at = 0; at < starts.length; at++) {
      const code = starts.charCodeAt(at);
      if (code >= 128) wide.set(code, candidates(code, false) ?? []);
    }
  }
  const plan: ScanPlan = {
    insideWord: ascii.map((code) => candidates(code, true)),
    elsewhere: ascii.map((code) => candidates(code, false)),
    wide,
  };
  plans.set(detectors, plan);
  return plan;
}
