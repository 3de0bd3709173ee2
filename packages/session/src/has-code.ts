/** What the operating system calls a failure: `ENOENT`, say. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
