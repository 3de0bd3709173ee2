import { execFile } from "node:child_process";

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The exit code that shells report for a program killed by SIGKILL. */
const KILLED = 137;

/** Runs a program to its end. Any exit code is returned; a program that cannot be started throws. */
export function sh(
  command: string,
  args: readonly string[],
  options: { cwd?: string } = {},
): Promise<Finished> {
  const { promise, resolve, reject } = Promise.withResolvers<Finished>();
  execFile(command, args, { ...options, maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
    const killed = typeof error?.signal === "string";
    if (error !== null && typeof error.code !== "number" && !killed) reject(error);
    else resolve({ code: error === null ? 0 : killed ? KILLED : Number(error.code), stdout, stderr });
  });
  return promise;
}
