import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { hasCode } from "./files.ts";

/** The form of a claim's name: process id, its start time, a unique part, and the host. */
const FORM = /^(\d+)\.(\d+)\.[\w-]+@(.*)$/;

const here = encodeURIComponent(hostname()).slice(0, 100);
let began: string | undefined;

/** A unique name for a claim, from which other processes on this machine can see whether its owner is still alive. */
export function claimName(unique: string): string {
  began ??= startIn(statOf(process.pid));
  return `${process.pid}.${began}.${unique}@${here}`;
}

export function isClaim(name: string): boolean {
  return FORM.test(name);
}

/**
 * Whether the process that made the claim has ended. A process on another machine counts as alive, because it cannot be checked.
 */
export function isMakerGone(claim: string): boolean {
  const [, pid, start, host] = FORM.exec(claim) ?? [];
  if (host !== here || pid === undefined) return false;
  if (!isAlive(Number(pid))) return true;
  const stat = statOf(Number(pid));
  // It has ended, to its last thread, and only its number is left: nobody has asked how it ended.
  if (stat[0] === "Z" && Number(stat[17]) <= 1) return true;
  const now = startIn(stat);
  return start !== "0" && now !== "0" && now !== start;
}

/** The claim's process, for an error message. */
export function makerOf(claim: string): string {
  const [, pid, , host] = FORM.exec(claim) ?? [];
  return `process ${pid} on ${host}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

/** When a process began, as Linux counts it: another one of the same number began at another time. 0 where nobody can say. */
function startIn(stat: readonly string[]): string {
  return stat[19] ?? "0";
}

function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // There is no such file on this system, or it cannot be opened now. Then only the process id is compared.
    return [];
  }
}
