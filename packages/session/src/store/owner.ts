import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { hasCode } from "../has-code.ts";

/** Identifies who holds a lock, and whether that holder still exists. */
export interface Liveness {
  /** The name under which this process holds locks. */
  readonly me: string;
  /** Whether this holder certainly no longer exists. */
  isGone(owner: string): boolean;
}

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

/** Processes of this machine. A holder on another machine counts as living, since that cannot be known here. */
export function processLiveness(): Liveness {
  const host = encodeURIComponent(hostname());
  return {
    me: `process:${host}:${process.pid}:${startOf(process.pid)}`,
    isGone(owner) {
      const [, where, pid, start] = FORM.exec(owner) ?? [];
      // Not a complete name: the lock was being written at a power failure, and nobody holds it.
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
    return !hasCode(error, "ESRCH");
  }
}

/**
 * Whether the process has ended (with all its threads) and only its entry is left, because its parent has not waited for it. In
 * a container whose first process is not an init, that entry can stay for good.
 */
function isDefunct(pid: number): boolean {
  const stat = statOf(pid);
  return stat[0] === "Z" && Number(stat[17]) <= 1;
}

/**
 * The start time of a process as Linux counts it, which tells it from a later process with the same id. "0" if it is not known.
 */
function startOf(pid: number): string {
  return statOf(pid)[19] ?? "0";
}

function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // Not Linux, or the file cannot be opened now; then only the process id can be compared.
    return [];
  }
}
