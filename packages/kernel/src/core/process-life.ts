import { hasCode } from "./has-code.ts";

/** How a process looks at others of its machine: with Node's `process.kill`, and the text of a file. Both may throw. */
export interface ProcessReads {
  readonly kill: (pid: number, signal: 0) => unknown;
  readonly read: (path: string) => string;
}

/** When a process began, in clock ticks of Linux. Two processes with the same id differ in it. "0" if it is not known. */
export function processStart(pid: number, reads: ProcessReads): string {
  return startIn(statOf(pid, reads));
}

/** Whether the process that has this id, or had it, has certainly ended. `start` is its `processStart`. */
export function hasEnded(pid: number, start: string, reads: ProcessReads): boolean {
  if (!isAlive(pid, reads)) return true;
  const stat = statOf(pid, reads);
  // A zombie: it has ended with its last thread, and only its id is left because its parent has not collected its exit status. In a
  // container whose first process is no init, that can last for ever.
  if (stat[0] === "Z" && Number(stat[17]) <= 1) return true;
  const now = startIn(stat);
  return Number(start) > 0 && Number(now) > 0 && now !== start;
}

/** Also true if it cannot be determined. */
function isAlive(pid: number, { kill }: ProcessReads): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

function startIn(stat: readonly string[]): string {
  return stat[19] ?? "0";
}

/** The fields after the program's name, which is in parentheses and may contain parentheses itself. */
function statOf(pid: number, { read }: ProcessReads): readonly string[] {
  try {
    const stat = read(`/proc/${pid}/stat`);
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // There is no such file on this system, or it cannot be opened now. Then only the process id says anything.
    return [];
  }
}
