/** What the operating system calls a failure: `ENOENT`, say. Undefined where it is another kind of failure. */
export function codeOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
}
