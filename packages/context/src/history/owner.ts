import { nodeModule } from "../node-module.ts";
import { hasCode } from "./files.ts";

/** The form of a claim's name: process id, its start time, a unique part, and the host. */
const CLAIM_NAME = /^(\d+)\.(\d+)\.[\w-]+@(.*)$/;

let host: string | undefined;
let startTime: string | undefined;

function thisHost(): string {
  return (host ??= encodeURIComponent(nodeModule("node:os").hostname()).slice(0, 100));
}

/** A unique name for a claim, from which other processes on this machine can see whether its owner is still alive. */
export function claimName(unique: string): string {
  startTime ??= startTimeIn(statOf(process.pid));
  return `${process.pid}.${startTime}.${unique}@${thisHost()}`;
}

export function isClaim(name: string): boolean {
  return CLAIM_NAME.test(name);
}

/**
 * Whether the process that made the claim has ended. A process on another machine counts as alive, because it cannot be checked.
 */
export function isOwnerGone(claim: string): boolean {
  const [, pid, start, where] = CLAIM_NAME.exec(claim) ?? [];
  if (where !== thisHost() || pid === undefined) return false;
  if (!isAlive(Number(pid))) return true;
  const stat = statOf(Number(pid));
  // A zombie: it has ended with all its threads, but its parent has not collected its exit status.
  if (stat[0] === "Z" && Number(stat[17]) <= 1) return true;
  const now = startTimeIn(stat);
  return start !== "0" && now !== "0" && now !== start;
}

/** The claim's process, for an error message. */
export function ownerOf(claim: string): string {
  const [, pid, , where] = CLAIM_NAME.exec(claim) ?? [];
  return `process ${pid} on ${where}`;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

/** The start time of a process in Linux clock ticks, which tells apart two processes with the same id. "0" if it is not known. */
function startTimeIn(stat: readonly string[]): string {
  return stat[19] ?? "0";
}

function statOf(pid: number): string[] {
  try {
    const stat = nodeModule("node:fs").readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // There is no such file on this system, or it cannot be opened now. Then only the process id is compared.
    return [];
  }
}
