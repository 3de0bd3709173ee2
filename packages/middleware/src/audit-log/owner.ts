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
    me: `process:${host}:${process.pid}:${startOf(await statOf(process.pid))}`,
    async isGone(owner) {
      const [, where, pid, start] = FORM.exec(owner) ?? [];
      if (where !== host || pid === undefined) return false;
      if (!isAlive(Number(pid))) return true;
      const stat = await statOf(Number(pid));
      // It has ended, to its last thread, and only its number is left: nobody has asked how it ended.
      if (stat[0] === "Z" && Number(stat[17]) <= 1) return true;
      const now = startOf(stat);
      return start !== "0" && now !== "0" && now !== start;
    },
  };
}

/** When a process began, as Linux counts it: another one of the same number began at another time. 0 where nobody can say. */
function startOf(stat: readonly string[]): string {
  return stat[19] ?? "0";
}

async function statOf(pid: number): Promise<string[]> {
  const { readFile } = await import("node:fs/promises");
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // No such file on this system, or none can be opened just now; then its number alone is what there is to go by.
    return [];
  }
}
