/**
 * `text.charCodeAt(at)`, for what reads a text character by character. The engine looks up a method of a text by how that text is stored:
 * as ASCII or not, whole, or as a part or a sum of others. Where more than four kinds have been seen, as in most programs after a while, each
 * character takes 10 ns instead of 3, unless the method is known already.
 */
export function codeAt(text: string, at: number): number {
  return String.prototype.charCodeAt.call(text, at);
}
