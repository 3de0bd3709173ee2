import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Who holds a lock, and whether somebody who does is no more. */
export interface Liveness {
  readonly me: string;
  isGone(owner: string): boolean;
}

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

/** Processes of this machine. An owner on another machine counts as living: nobody here can know. */
export function processLiveness(): Liveness {
  const host = encodeURIComponent(hostname());
  return {
    me: `process:${host}:${process.pid}:${startOf(process.pid)}`,
    isGone(owner) {
      const [, where, pid, start] = FORM.exec(owner) ?? [];
      // A lock that was being written when the power went: nobody holds it.
      if (where === undefined) return true;
      if (where !== host || pid === undefined) return false;
      if (!isAlive(Number(pid)) || isDefunct(Number(pid))) return true;
      const now = startOf(Number(pid));
      return start !== "0" && now !== "0" && now !== start;
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}

/**
 * Whether it has ended, to its last thread, and only its number is left, because nobody has asked how it ended. In a
 * container whose first process is no init that can be for good.
 */
function isDefunct(pid: number): boolean {
  const stat = statOf(pid);
  return stat[0] === "Z" && Number(stat[17]) <= 1;
}

/** When a process began, as Linux counts it: another one of the same number began at another time. 0 where nobody can say. */
function startOf(pid: number): string {
  return statOf(pid)[19] ?? "0";
}

function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // No such file on this system, or none can be opened just now; then its number alone is what there is to go by.
    return [];
  }
}
