import { isHex } from "../reader.ts";
import { sameView, type View, ViewBuilder } from "../clean/view.ts";

const BACKSLASH = 0x5c;

/** The character that an escape stands for, as in JSON and most languages. */
const ESCAPES: ReadonlyMap<string, string> = new Map(
  Object.entries({ n: "\n", r: "\r", t: "\t", b: "\b", f: "\f", "/": "/", '"': '"' }),
);

/** More backslashes than this before a letter are not nested JSON: encoded six times, there are 63. */
const MAX_BACKSLASHES = 63;

interface Escape {
  readonly length: number;
  readonly text: string;
}

const UNDECIDED = "undecided";

/** JSON with its escapes decoded. Reading may start at any of the view's `starts`, with the same result. */
export function readJson(text: string, isLast: boolean): View {
  return readWith(text, isLast, (at) => {
    if (text.charCodeAt(at + 1) === BACKSLASH) return { length: 2, text: "\\" };
    return escapeAfter(text, at, 1);
  });
}

/**
 * Any text with escapes decoded as if it contained JSON, however often encoded. It need not be JSON, so the `\n` of a path such as `C:\new`
 * reads as a line break too: good enough to find what begins after an escape, or has one inside. Reading may start at any of
 * the view's `starts`, with the same result.
 */
export function readEscapes(text: string, isLast: boolean): View {
  return readWith(text, isLast, (at) => {
    let count = 1;
    while (text.charCodeAt(at + count) === BACKSLASH) count++;
    // All surplus backslashes of a run at once: counted again from each of them, it would take 63 times as long.
    return count > MAX_BACKSLASHES ? count - MAX_BACKSLASHES : escapeAfter(text, at, count);
  });
}

function readWith(
  text: string,
  isLast: boolean,
  escapeAt: (at: number) => Escape | typeof UNDECIDED | number,
): View {
  let at = text.indexOf("\\");
  if (at === -1) return sameView(text);
  const view = new ViewBuilder(text);
  while (at !== -1) {
    view.copyTo(at);
    const escape = escapeAt(at);
    if (escape === UNDECIDED && !isLast) return view.view();
    // What is not an escape stands for itself.
    if (escape === UNDECIDED) view.copyTo(++at);
    else if (typeof escape === "number") view.copyTo((at += escape));
    else {
      view.put(escape.length, escape.text);
      at += escape.length;
    }
    at = text.indexOf("\\", at);
  }
  view.copyTo(text.length);
  return view.view();
}

/** The escape of this many backslashes and the characters after them, or how many of them stand for themselves. */
function escapeAfter(text: string, at: number, backslashes: number): Escape | typeof UNDECIDED | number {
  const letter = at + backslashes;
  if (letter >= text.length) return UNDECIDED;
  if (text.charAt(letter) !== "u") {
    const character = ESCAPES.get(text.charAt(letter));
    return character === undefined ? backslashes : { length: backslashes + 1, text: character };
  }
  for (let place = letter + 1; place <= letter + 4; place++) {
    if (place >= text.length) return UNDECIDED;
    if (!isHex(text.charCodeAt(place))) return backslashes;
  }
  const code = Number.parseInt(text.slice(letter + 1, letter + 5), 16);
  return { length: backslashes + 5, text: String.fromCharCode(code) };
}
