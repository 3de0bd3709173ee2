/** Follows a JSON object while it is streamed, to know when it is closed. Each character is looked at once. */
export interface JsonExtent {
  add(text: string): void;
  /** Everything that was opened is closed again. That does not mean that the JSON is valid. */
  isClosed(): boolean;
  /** It has begun, and not everything is closed yet. */
  isOpen(): boolean;
}

export function jsonExtent(): JsonExtent {
  let depth = 0;
  let opened = false;
  let inString = false;
  let escaped = false;
  const isWhole = (): boolean => depth === 0 && !inString;
  return {
    add(text) {
      for (const letter of text) {
        if (escaped) escaped = false;
        else if (inString) {
          if (letter === "\\") escaped = true;
          else if (letter === '"') inString = false;
        } else if (letter === '"') inString = true;
        else if (letter === "{" || letter === "[") {
          depth++;
          opened = true;
        } else if (letter === "}" || letter === "]") depth--;
      }
    },
    isClosed: () => opened && isWhole(),
    isOpen: () => opened && !isWhole(),
  };
}
