/** Blocks of thoughts at the beginning. */
const BLOCKS = /^(?:\s*<think(?:ing)?>[\s\S]*?<\/think(?:ing)?>)+\s*/i;
/** The first tag, and whether it closes thoughts and ends its line. */
const FIRST_TAG = /<(?:(?<end>\/think(?:ing)?>[^\S\n]*(?:\n|$))|\/?think(?:ing)?>)/i;

/**
 * The text without the model's thoughts, which some servers leave in front of it as `<think>…</think>`. The opening tag may be
 * missing; then the closing one must end its line, which one inside of JSON never does. Other tags belong to the text.
 */
export function withoutThoughts(text: string): string {
  const first = FIRST_TAG.exec(text);
  const isBegun = first?.groups?.["end"] !== undefined;
  const rest = isBegun ? text.slice(first.index + first[0].length).trimStart() : text;
  return rest.replace(BLOCKS, "");
}
