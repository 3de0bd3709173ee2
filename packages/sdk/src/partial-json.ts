import type { JsonValue } from "@ravi/kernel";

/**
 * The value of a JSON text that is still being written, as far as it has come. Nothing in it changes when the rest comes: lists, objects and
 * the last string get longer. A number or a word (`true`) in a list or an object is there as soon as something follows it, since `1` may
 * become `12`. Undefined if there is nothing yet, or if the text cannot become JSON (which of a string may show only at its end).
 */
export function partialJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    // It is not complete.
  }
  const closed = close(text);
  try {
    return closed === undefined ? undefined : (JSON.parse(closed) as JsonValue);
  } catch {
    return undefined;
  }
}

/** The text up to where all that is open can be closed, and closed there. Undefined if nothing has begun, or something is out of place. */
function close(text: string): string | undefined {
  const open: ("}" | "]")[] = [];
  let wanted: "value" | "key" | "colon" | "end" = "value";
  /** Nothing is in the last list or object yet. */
  let isEmpty = false;
  // Nothing is opened or closed after this place, so what has to be closed there is what is open at the end of the text.
  let end = 0;
  for (let at = 0; at < text.length;) {
    const sign = text.charAt(at);
    const from = at++;
    if (/[ \t\n\r]/.test(sign)) continue;
    if (sign === "," && wanted === "end" && open.length > 0) wanted = open.at(-1) === "}" ? "key" : "value";
    else if (sign === ":" && wanted === "colon") wanted = "value";
    else if ((sign === "}" || sign === "]") && sign === open.at(-1) && (wanted === "end" || isEmpty)) {
      open.pop();
      [wanted, end] = ["end", at];
    } else if (sign === '"' && (wanted === "key" || wanted === "value")) {
      const { length, safe, isOver } = stringAt(text, from);
      if (!isOver && wanted === "value") return finish(text.slice(0, safe) + '"', open);
      at = from + length;
      if (wanted === "value") end = at;
      wanted = wanted === "key" ? "colon" : "end";
    } else if (wanted !== "value") return undefined;
    else if (sign === "{" || sign === "[") {
      open.push(sign === "{" ? "}" : "]");
      [wanted, end, isEmpty] = [sign === "{" ? "key" : "value", at, true];
      continue;
    } else {
      while (at < text.length && !/[\s,\]}]/.test(text.charAt(at))) at++;
      if (at === text.length)
        return canBecomeScalar(text.slice(from)) ? finish(text.slice(0, end), open) : undefined;
      [wanted, end] = ["end", at];
    }
    isEmpty = false;
  }
  return finish(text.slice(0, end), open);
}

function finish(text: string, open: readonly string[]): string | undefined {
  return text === "" ? undefined : text + open.toReversed().join("");
}

/** The string that begins at `from`, and up to where it is `safe` to end it: not within an escape or half a character. */
function stringAt(text: string, from: number): { length: number; safe: number; isOver: boolean } {
  let safe = from + 1;
  for (let at = safe; at < text.length;) {
    if (text[at] === '"') return { length: at + 1 - from, safe, isOver: true };
    const size = text[at] !== "\\" ? 1 : text[at + 1] === "u" ? 6 : 2;
    const unit = size === 6 ? Number.parseInt(text.slice(at + 2, at + 6), 16) : text.charCodeAt(at);
    at += size;
    const isHalf = unit >= 0xd800 && unit <= 0xdbff;
    if (at <= text.length && !isHalf) safe = at;
  }
  return { length: text.length - from, safe, isOver: false };
}

const NUMBER_START = /^-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE][+-]?\d*)?)?|[eE][+-]?\d*)?)?$/;

function canBecomeScalar(text: string): boolean {
  return ["true", "false", "null"].some((word) => word.startsWith(text)) || NUMBER_START.test(text);
}
