import { codeAt } from "@ravi/kernel/loop";
import { readEscapes, readJson } from "./escapes.ts";
import type { TextFilter } from "../filter.ts";
import { asciiOf, type Detector, isAlphanumeric, Reader } from "../reader.ts";
import { type Candidate, planOf, type ScanPlan } from "./scan-plan.ts";
import { sameView, sourceIndex, type View } from "../clean/view.ts";

export interface ScannerOptions {
  readonly detectors: readonly Detector[];
  /** Returns the placeholder for a match. If the match has a tail, `value` is only its beginning. May throw to stop the scan. */
  readonly replace: (kind: string, value: string) => string;
  /**
   * Whether the text is JSON. Then its escapes are decoded first, and it stays JSON: what is replaced outside of a string becomes
   * a string.
   */
  readonly json?: boolean | undefined;
  /** For tests, to count reads. */
  readonly reader?: Reader | undefined;
}

const QUOTE = 0x22;
const SPACE = 0x20;
const NOTHING_BEFORE = SPACE;

/** A filter that scans a text once from left to right and replaces what the detectors find; the first one in the list wins. */
export function createScanner(options: ScannerOptions): TextFilter {
  return new Scanner(options);
}

/** A text for detectors. The positions of its view are indexes of `exact`. */
interface DetectorText {
  readonly reader: Reader;
  view: View;
}

interface Found {
  readonly detector: Detector;
  /** The end of the match, as an index of `exact`. */
  readonly end: number;
  readonly value: string;
}

/** The decision depends on text that has not arrived yet. */
const UNSURE = "unsure";

/**
 * A text is read in two ways: `exact` is what is written (for JSON, the decoded strings), and `read` is the same with the escapes
 * of JSON inside of it decoded. Detectors look at `read`: there, the letter of an escape does not count as part of a word, and no
 * escape hides a part of a secret. Exact texts are looked for in both. Without a backslash both are the text itself.
 */
class Scanner implements TextFilter {
  private readonly options: ScannerOptions;
  private readonly plan: ScanPlan;
  /** The text that is not decided yet; begins at a character of `read`. */
  private held = "";
  /** How much of `held` is already done: an exact text may end inside of an escape, or of what could become one. */
  private lead = 0;
  private isLast = false;
  /** Its positions are indexes of `held`. */
  private exact = sameView("");
  private readonly written: DetectorText = { reader: new Reader(), view: this.exact };
  private readonly read: DetectorText;
  /** For each detector, the index in `read` before which nothing begins. */
  private readonly emptyUntil: number[];
  private before = NOTHING_BEFORE;
  private inString = false;
  /** The detector of the last match, as long as its tail may continue. */
  private open: Detector | undefined;

  constructor(options: ScannerOptions) {
    this.options = options;
    this.plan = planOf(options.detectors);
    this.read = { reader: options.reader ?? new Reader(), view: this.exact };
    this.emptyUntil = options.detectors.map(() => 0);
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
    setView(this.written, sameView(exact.text));
    setView(this.read, read);
    let out = "";
    // An index of `exact`, and the index of the character of `read` that it belongs to.
    let at = this.lead;
    let unit = this.unitAt(at, 0);
    let copied = sourceIndex(exact, at);
    while (unit < read.text.length) {
      const more = this.open === undefined ? 0 : this.tailAt(this.open, unit);
      if (more === UNSURE) break;
      if (more > 0) {
        // A tail is dropped and not copied.
        at = sourceIndex(read, unit + more);
        copied = sourceIndex(exact, at);
      } else {
        this.open = undefined;
        const found = this.find(at, unit);
        if (found === UNSURE) break;
        if (found === undefined) {
          if (this.isStringQuote(at)) this.inString = !this.inString;
          at++;
        } else {
          out += text.slice(copied, sourceIndex(exact, at)) + this.placeholder(found);
          this.open = found.detector;
          at = found.end;
          copied = sourceIndex(exact, at);
        }
      }
      unit = this.unitAt(at, unit);
      // After an escape, the decoded character counts and not the escape's letter.
      const isWhole = unit > 0 && sourceIndex(read, unit) === at;
      this.before = asciiOf(isWhole ? codeAt(read.text, unit - 1) : codeAt(exact.text, at - 1));
    }
    out += text.slice(copied, sourceIndex(exact, at));
    const kept = sourceIndex(read, unit);
    this.lead = at - kept;
    this.held = text.slice(sourceIndex(exact, kept));
    for (let index = 0; index < this.emptyUntil.length; index++)
      this.emptyUntil[index] = Math.max(0, (this.emptyUntil[index] ?? 0) - unit);
    return out;
  }

  /** The index of the character of `read` that an index of `exact` belongs to. The search starts at `from`. */
  private unitAt(at: number, from: number): number {
    const { view } = this.read;
    if (view.starts === undefined) return at;
    let unit = from;
    while (unit < view.text.length && sourceIndex(view, unit + 1) <= at) unit++;
    return unit;
  }

  /** How many characters at this position still belong to the last match. */
  private tailAt({ tail, bridge }: Detector, unit: number): number | typeof UNSURE {
    const { reader } = this.read;
    if (tail?.(reader.at(unit)) === true) return 1;
    if (bridge === undefined) return 0;
    reader.ranShort = false;
    const length = bridge(reader, unit, this.before);
    return reader.ranShort && !this.isLast ? UNSURE : length;
  }

  private find(at: number, unit: number): Found | typeof UNSURE | undefined {
    const { plan, read } = this;
    if (sourceIndex(read.view, unit) === at) {
      const written = codeAt(read.view.text, unit);
      const code = asciiOf(written);
      const lists = isAlphanumeric(this.before) ? plan.insideWord : plan.elsewhere;
      // Exact texts begin with what is written, everything else also with a variant of it.
      const found =
        (code === written ? undefined : this.match(plan.wide.get(written), read, unit)) ??
        this.match(code < 128 ? lists[code] : plan.wide.get(code), read, unit);
      if (found !== undefined) return found;
    }
    // Without an escape both readings are the same.
    if (read.view.starts === undefined) return undefined;
    const { written } = this;
    return this.match(plan.literals.get(codeAt(written.view.text, at)), written, at);
  }

  /** The first candidate that matches at this position. */
  private match(
    candidates: readonly Candidate[] | undefined,
    { reader, view }: DetectorText,
    from: number,
  ): Found | typeof UNSURE | undefined {
    if (candidates === undefined) return undefined;
    for (const { detector, index } of candidates) {
      if ((this.emptyUntil[index] ?? 0) > from) continue;
      reader.ranShort = false;
      const length = detector.match(reader, from, this.before);
      if (reader.ranShort && !this.isLast) return UNSURE;
      if (length < 0) this.emptyUntil[index] = from - length;
      if (length <= 0) continue;
      const end = sourceIndex(view, from + length);
      if (this.hasStringQuote(sourceIndex(view, from), end)) continue;
      return { detector, end, value: view.text.slice(from, from + length) };
    }
    return undefined;
  }

  private placeholder({ detector, value }: Found): string {
    const text = this.options.replace(detector.kind, value);
    return this.options.json === true && !this.inString && text !== "" ? `"${text}"` : text;
  }

  /** Whether there is a quote here that begins or ends a JSON string. */
  private isStringQuote(at: number): boolean {
    if (this.options.json !== true || codeAt(this.exact.text, at) !== QUOTE) return false;
    return sourceIndex(this.exact, at + 1) - sourceIndex(this.exact, at) === 1;
  }

  /** Whether a range contains such a quote. A match that does is ignored, because it would break the JSON. */
  private hasStringQuote(from: number, to: number): boolean {
    if (this.options.json !== true) return false;
    for (let at = from; at < to; at++) if (this.isStringQuote(at)) return true;
    return false;
  }
}

function setView(target: DetectorText, view: View): void {
  target.view = view;
  target.reader.text = view.text;
}
