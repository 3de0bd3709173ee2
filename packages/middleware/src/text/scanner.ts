import { readEscapes, readJson } from "./escapes.ts";
import type { TextFilter } from "./filter.ts";
import { type Detector, isAlphanumeric, Reader } from "./reader.ts";
import { placeOf, sameView } from "./view.ts";

export interface ScannerOptions {
  readonly detectors: readonly Detector[];
  /** What stands in the place of a found one. `value` is its beginning where it has a tail. May throw, to stop. */
  readonly replace: (kind: string, value: string) => string;
  /** The text is JSON: it is looked at as its reader sees it, and stays JSON; what is replaced outside of a string becomes one. */
  readonly json?: boolean | undefined;
  /** Given by a test to count reads. */
  readonly reader?: Reader | undefined;
}

const QUOTE = 0x22;
const SPACE = 0x20;
const NOTHING_BEFORE = SPACE;

/** Goes over a text once, from left to right, and replaces what the detectors find; the first in their list wins. */
export function createScanner(options: ScannerOptions): TextFilter {
  return new Scanner(options);
}

/**
 * A text is read twice: `exact` is what is written there (of JSON, what its strings say), `read` is the same with the escapes
 * of JSON that may stand inside of it as what they stand for. Detectors look at `read`: the letter of an escape is not the
 * inside of a word, and no escape hides a part of a secret. Own texts are looked for in both. Without a backslash both are
 * the text itself.
 */
class Scanner implements TextFilter {
  private readonly options: ScannerOptions;
  private readonly plan: ScanPlan;
  /** What is not judged yet, from the beginning of a character of `read`. */
  private held = "";
  /** How much of it is done: an own text may end inside of an escape, or of what could become one. */
  private lead = 0;
  private exact = sameView("");
  private read = sameView("");
  private readonly exactReader = new Reader();
  private readonly reader: Reader;
  /** Up to where in `read` each detector has said that nothing begins. */
  private readonly clear: number[];
  private before = NOTHING_BEFORE;
  private inString = false;
  /** What was found last, while it may go on. */
  private open: Detector | undefined;

  constructor(options: ScannerOptions) {
    this.options = options;
    this.plan = planOf(options.detectors);
    this.reader = options.reader ?? new Reader();
    this.clear = options.detectors.map(() => 0);
  }

  push(text: string): string {
    if (text === "") return "";
    this.held += text;
    return this.scan(false);
  }

  end(): string {
    const rest = this.scan(true);
    this.before = NOTHING_BEFORE;
    this.inString = false;
    this.open = undefined;
    return rest;
  }

  private scan(isLast: boolean): string {
    const text = this.held;
    const exact = (this.exact = this.options.json === true ? readJson(text, isLast) : sameView(text));
    const read = (this.read = readEscapes(exact.text, isLast));
    this.exactReader.text = exact.text;
    this.reader.text = read.text;
    let out = "";
    // A place in `exact`, and the character of `read` that it belongs to.
    let at = this.lead;
    let unit = this.unitAt(at, 0);
    let copied = placeOf(exact, at);
    while (unit < read.text.length) {
      if (this.open !== undefined) {
        const more = this.tailAt(this.open, unit, isLast);
        if (more === UNSURE) break;
        if (more > 0) {
          // A tail is dropped, not copied.
          unit += more;
          this.before = read.text.charCodeAt(unit - 1);
          at = placeOf(read, unit);
          copied = placeOf(exact, at);
          continue;
        }
        this.open = undefined;
      }
      // Without an escape both are the same.
      const found = read.starts === undefined ? this.findRead(unit, isLast) : this.findBoth(at, unit, isLast);
      if (found === UNSURE) break;
      if (found === undefined) {
        this.before = exact.text.charCodeAt(at);
        if (this.before === QUOTE && this.isMark(at)) this.inString = !this.inString;
        at++;
      } else {
        out += text.slice(copied, placeOf(exact, at)) + this.placeholder(found.detector.kind, found.value);
        this.before = exact.text.charCodeAt(found.end - 1);
        this.open = found.detector;
        at = found.end;
        copied = placeOf(exact, at);
      }
      if (read.starts === undefined) {
        unit = at;
        continue;
      }
      unit = this.unitAt(at, unit);
      // After an escape it is what that stands for, and not its letter.
      if (unit > 0 && placeOf(read, unit) === at) this.before = read.text.charCodeAt(unit - 1);
    }
    out += text.slice(copied, placeOf(exact, at));
    const kept = placeOf(read, unit);
    this.lead = at - kept;
    this.held = text.slice(placeOf(exact, kept));
    for (let index = 0; index < this.clear.length; index++)
      this.clear[index] = Math.max(0, (this.clear[index] ?? 0) - unit);
    return out;
  }

  /** The character of `read` to which a place in `exact` belongs; from one before it on. */
  private unitAt(at: number, from: number): number {
    let unit = from;
    while (unit < this.read.text.length && placeOf(this.read, unit + 1) <= at) unit++;
    return unit;
  }

  /** How much of the text there still belongs to what was found before it. */
  private tailAt({ tail, bridge }: Detector, unit: number, isLast: boolean): number | typeof UNSURE {
    if (tail?.(this.read.text.charCodeAt(unit)) === true) return 1;
    if (bridge === undefined) return 0;
    this.reader.ranShort = false;
    const length = bridge(this.reader, unit, this.before);
    return this.reader.ranShort && !isLast ? UNSURE : length;
  }

  private findBoth(at: number, unit: number, isLast: boolean): Found | typeof UNSURE | undefined {
    const found = placeOf(this.read, unit) === at ? this.findRead(unit, isLast) : undefined;
    return found ?? (this.plan.literals.size === 0 ? undefined : this.findExact(at, isLast));
  }

  private findRead(unit: number, isLast: boolean): Found | typeof UNSURE | undefined {
    const code = this.reader.text.charCodeAt(unit);
    const lists = isAlphanumeric(this.before) ? this.plan.insideWord : this.plan.elsewhere;
    const candidates = code < 128 ? lists[code] : this.plan.wide.get(code);
    if (candidates === undefined) return undefined;
    for (const index of candidates) {
      const detector = this.options.detectors[index];
      if (detector === undefined || (this.clear[index] ?? 0) > unit) continue;
      this.reader.ranShort = false;
      const length = detector.match(this.reader, unit, this.before);
      if (this.reader.ranShort && !isLast) return UNSURE;
      if (length < 0) this.clear[index] = unit - length;
      if (length <= 0) continue;
      const end = placeOf(this.read, unit + length);
      if (this.hasMark(placeOf(this.read, unit), end)) continue;
      return { detector, end, value: this.read.text.slice(unit, unit + length) };
    }
    return undefined;
  }

  private findExact(at: number, isLast: boolean): Found | typeof UNSURE | undefined {
    for (const index of this.plan.literals.get(this.exact.text.charCodeAt(at)) ?? []) {
      const detector = this.options.detectors[index];
      if (detector === undefined) continue;
      this.exactReader.ranShort = false;
      const length = detector.match(this.exactReader, at, this.before);
      if (this.exactReader.ranShort && !isLast) return UNSURE;
      if (length <= 0 || this.hasMark(at, at + length)) continue;
      return { detector, end: at + length, value: this.exact.text.slice(at, at + length) };
    }
    return undefined;
  }

  private placeholder(kind: string, value: string): string {
    const text = this.options.replace(kind, value);
    return this.options.json === true && !this.inString && text !== "" ? `"${text}"` : text;
  }

  /** Whether a quote of JSON stands there that begins or ends a string. */
  private isMark(at: number): boolean {
    if (this.options.json !== true || this.exact.text.charCodeAt(at) !== QUOTE) return false;
    return placeOf(this.exact, at + 1) - placeOf(this.exact, at) === 1;
  }

  /** What would take such a quote with it is no text. */
  private hasMark(from: number, to: number): boolean {
    if (this.options.json !== true) return false;
    for (let at = from; at < to; at++) if (this.isMark(at)) return true;
    return false;
  }
}

interface Found {
  readonly detector: Detector;
  /** Where it ends, in `exact`. */
  readonly end: number;
  readonly value: string;
}

const UNSURE = "unsure";

/** Which detectors (by their index) can begin with which character. Made once for a list of detectors. */
interface ScanPlan {
  readonly insideWord: readonly (readonly number[] | undefined)[];
  readonly elsewhere: readonly (readonly number[] | undefined)[];
  /** Characters beyond ASCII, which only literals begin with. */
  readonly wide: ReadonlyMap<number, readonly number[]>;
  /** Own texts, by what they begin with. */
  readonly literals: ReadonlyMap<number, readonly number[]>;
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
  const literals = new Map<number, number[]>();
  for (const [index, { starts, isLiteral }] of detectors.entries()) {
    if (isLiteral !== true) continue;
    for (let at = 0; at < starts.length; at++) {
      const code = starts.charCodeAt(at);
      literals.set(code, [...(literals.get(code) ?? []), index]);
    }
  }
  const plan: ScanPlan = {
    insideWord: ascii.map((code) => candidates(code, true)),
    elsewhere: ascii.map((code) => candidates(code, false)),
    wide,
    literals,
  };
  plans.set(detectors, plan);
  return plan;
}
