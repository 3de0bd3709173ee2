/** Follows a JSON object as it is written, to know when it is closed. Each character is looked at once. */
export interface JsonExtent {
  add(text: string): void;
  /** All that was opened is closed again. Whether it is valid is for whoever parses it. */
  readonly isClosed: boolean;
  /** It has begun, and something of it is not closed yet. */
  readonly isOpen: boolean;
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
    get isClosed() {
      return opened && isWhole();
    },
    get isOpen() {
      return opened && !isWhole();
    },
  };
}
