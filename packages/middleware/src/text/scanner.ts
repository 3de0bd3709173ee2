import { readEscapes, readJson } from "./escapes.ts";
import type { TextFilter } from "./filter.ts";
import { type Detector, isAlphanumeric, Reader } from "./reader.ts";
import { type Candidate, planOf, type ScanPlan } from "./scan-plan.ts";
import { placeOf, sameView, type View } from "./view.ts";

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

/** A text that detectors look at. The places of its view are those in `exact`. */
interface Looked {
  readonly reader: Reader;
  view: View;
}

interface Found {
  readonly detector: Detector;
  /** Where it ends, in `exact`. */
  readonly end: number;
  readonly value: string;
}

/** What comes next decides. */
const UNSURE = "unsure";

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
  private isLast = false;
  /** Its places are those in what is held. */
  private exact = sameView("");
  private readonly written: Looked = { reader: new Reader(), view: this.exact };
  private readonly read: Looked;
  /** Up to where in `read` each detector has said that nothing begins. */
  private readonly clear: number[];
  private before = NOTHING_BEFORE;
  private inString = false;
  /** What was found last, while it may go on. */
  private open: Detector | undefined;

  constructor(options: ScannerOptions) {
    this.options = options;
    this.plan = planOf(options.detectors);
    this.read = { reader: options.reader ?? new Reader(), view: this.exact };
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
    const exact = this.options.json === true ? readJson(text, isLast) : sameView(text);
    const read = readEscapes(exact.text, isLast);
    this.isLast = isLast;
    this.exact = exact;
    look(this.written, sameView(exact.text));
    look(this.read, read);
    let out = "";
    // A place in `exact`, and the character of `read` that it belongs to.
    let at = this.lead;
    let unit = this.unitAt(at, 0);
    let copied = placeOf(exact, at);
    while (unit < read.text.length) {
      const more = this.open === undefined ? 0 : this.tailAt(this.open, unit);
      if (more === UNSURE) break;
      if (more > 0) {
        // A tail is dropped, not copied.
        at = placeOf(read, unit + more);
        copied = placeOf(exact, at);
      } else {
        this.open = undefined;
        const found = this.find(at, unit);
        if (found === UNSURE) break;
        if (found === undefined) {
          if (this.isMark(at)) this.inString = !this.inString;
          at++;
        } else {
          out += text.slice(copied, placeOf(exact, at)) + this.placeholder(found);
          this.open = found.detector;
          at = found.end;
          copied = placeOf(exact, at);
        }
      }
      unit = this.unitAt(at, unit);
      // After an escape it is what that stands for, and not its letter.
      const isWhole = unit > 0 && placeOf(read, unit) === at;
      this.before = isWhole ? read.text.charCodeAt(unit - 1) : exact.text.charCodeAt(at - 1);
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
    const { view } = this.read;
    if (view.starts === undefined) return at;
    let unit = from;
    while (unit < view.text.length && placeOf(view, unit + 1) <= at) unit++;
    return unit;
  }

  /** How much of the text there still belongs to what was found before it. */
  private tailAt({ tail, bridge }: Detector, unit: number): number | typeof UNSURE {
    const { reader } = this.read;
    if (tail?.(reader.text.charCodeAt(unit)) === true) return 1;
    if (bridge === undefined) return 0;
    reader.ranShort = false;
    const length = bridge(reader, unit, this.before);
    return reader.ranShort && !this.isLast ? UNSURE : length;
  }

  private find(at: number, unit: number): Found | typeof UNSURE | undefined {
    const { plan, read, written } = this;
    if (placeOf(read.view, unit) === at) {
      const code = read.view.text.charCodeAt(unit);
      const lists = isAlphanumeric(this.before) ? plan.insideWord : plan.elsewhere;
      const found = this.match(code < 128 ? lists[code] : plan.wide.get(code), read, unit);
      if (found !== undefined) return found;
    }
    // Without an escape both are the same.
    if (read.view.starts === undefined) return undefined;
    return this.match(plan.literals.get(written.view.text.charCodeAt(at)), written, at);
  }

  /** The first of them that finds something there. */
  private match(
    candidates: readonly Candidate[] | undefined,
    { reader, view }: Looked,
    from: number,
  ): Found | typeof UNSURE | undefined {
    if (candidates === undefined) return undefined;
    for (const { detector, index } of candidates) {
      if ((this.clear[index] ?? 0) > from) continue;
      reader.ranShort = false;
      const length = detector.match(reader, from, this.before);
      if (reader.ranShort && !this.isLast) return UNSURE;
      if (length < 0) this.clear[index] = from - length;
      if (length <= 0) continue;
      const end = placeOf(view, from + length);
      if (this.hasMark(placeOf(view, from), end)) continue;
      return { detector, end, value: view.text.slice(from, from + length) };
    }
    return undefined;
  }

  private placeholder({ detector, value }: Found): string {
    const text = this.options.replace(detector.kind, value);
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

function look(looked: Looked, view: View): void {
  looked.view = view;
  looked.reader.text = view.text;
}
