import { codeOf } from "../error-code.ts";

/** What is asked of this machine about its processes. */
export interface Processes {
  /** A name for this process, by which others on the same machine can see whether it still lives. */
  readonly me: string;
  isGone(owner: string): Promise<boolean>;
}

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

/** An owner on another machine counts as living: nobody here can know. */
export async function processesHere(): Promise<Processes> {
  const [{ hostname }, { default: process }] = await Promise.all([import("node:os"), import("node:process")]);
  const host = encodeURIComponent(hostname());
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      return codeOf(error) !== "ESRCH";
    }
  };
  return {
    me: `process:${host}:${process.pid}:${await startOf(process.pid)}`,
    async isGone(owner) {
      const [, where, pid, start] = FORM.exec(owner) ?? [];
      if (where !== host || pid === undefined) return false;
      if (!isAlive(Number(pid))) return true;
      const now = await startOf(Number(pid));
      return start !== "0" && now !== "0" && now !== start;
    },
  };
}

/** When a process began, as Linux counts it: another one of the same number began at another time. 0 where nobody can say. */
async function startOf(pid: number): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
  } catch {
    // No such file on this system, or none can be opened just now; then its number alone is what there is to go by.
    return "0";
  }
}
