import type { ContentPart } from "@ravi/kernel";

/** Replaces unpaired surrogates, which not every server accepts. Tools and models may produce them when they cut text. */
export function textPart(text: string): object[] {
  return text === "" ? [] : [{ type: "text", text: text.toWellFormed() }];
}

/** The parts of a content. */
export function partsOf(content: string | readonly ContentPart[]): readonly ContentPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
