import { type Fields, field, isObject, listOf, textIn } from "@ravi/kernel/provider";
import { type Thought, THOUGHT_FIELDS, type ThoughtField } from "./kept.ts";

/** Collects the reasoning of an answer. */
export interface ReasoningAssembly {
  /** Adds the reasoning of a delta or a whole message; `inContent` is what its content had. Returns the new text. */
  add(source: unknown, inContent: string, isWhole: boolean): string;
  thought(): Thought;
}

export function assembleReasoning(): ReasoningAssembly {
  let text = "";
  let sentAs: ThoughtField | undefined;
  const details: Record<string, unknown>[] = [];
  return {
    add(source, inContent, isWhole) {
      const name = THOUGHT_FIELDS.find((each) => textIn(field(source, each)) !== undefined);
      sentAs ??= name;
      const given = (name === undefined ? undefined : textIn(field(source, name))) ?? inContent;
      const delta = isWhole ? beyond(text, given) : given;
      const more = listOf(field(source, "reasoning_details")).filter(isObject);
      // A message that has grown repeats its details.
      if (delta.length < given.length && more.length > 0) details.length = 0;
      for (const detail of more) addDetail(details, detail);
      text += delta;
      return delta;
    },
    thought: () => ({ text, sentAs, details }),
  };
}

/** What a whole text adds to what is known: the rest if it begins with that, else all of it. */
export function beyond(known: string, whole: string): string {
  return whole.length >= known.length && whole.startsWith(known) ? whole.slice(known.length) : whole;
}

/**
 * Appends to the last detail if type and index are the same. Encrypted data is never split, so it is always a detail of its own.
 */
function addDetail(details: Record<string, unknown>[], piece: Fields): void {
  const last = details.at(-1);
  const isSame = ["type", "index"].every((key) => last?.[key] === piece[key] && piece[key] !== undefined);
  if (last === undefined || !isSame || piece["data"] !== undefined) {
    details.push({ ...piece });
    return;
  }
  for (const [key, value] of Object.entries(piece)) {
    const isText = key === "text" || key === "summary";
    last[key] = isText ? `${textIn(last[key]) ?? ""}${textIn(value) ?? ""}` : (value ?? last[key]);
  }
}
