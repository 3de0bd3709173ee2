/** The operating system's error code, such as `ENOENT`. Undefined if the error has none. */
export function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
