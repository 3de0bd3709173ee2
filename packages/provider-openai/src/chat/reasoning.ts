import { type Fields, field, isObject, listOf, textIn } from "@ravi/kernel/provider";
import { type Thought, THOUGHT_FIELDS, type ThoughtField } from "./kept.ts";

/** Collects the reasoning of an answer. */
export interface ReasoningAssembly {
  /** Adds the reasoning of a delta or a message; `inContent` is what its content had. Returns the new text. */
  add(source: unknown, inContent: string): string;
  thought(): Thought;
}

export function assembleReasoning(): ReasoningAssembly {
  let text = "";
  let sentAs: ThoughtField | undefined;
  const details: Record<string, unknown>[] = [];
  return {
    add(source, inContent) {
      const name = THOUGHT_FIELDS.find((each) => textIn(field(source, each)) !== undefined);
      sentAs ??= name;
      for (const detail of listOf(field(source, "reasoning_details")).filter(isObject))
        addDetail(details, detail);
      const delta = (name === undefined ? undefined : textIn(field(source, name))) ?? inContent;
      text += delta;
      return delta;
    },
    thought: () => ({ text, sentAs, details }),
  };
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
