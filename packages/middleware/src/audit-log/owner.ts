import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import process from "node:process";
import { codeOf } from "../error-code.ts";

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

const host = encodeURIComponent(hostname());

/** Whether the text is the whole name of a process. After a power failure a file may be cut off, or consist of zeros. */
export function isOwner(text: string): boolean {
  return FORM.test(text);
}

/** A name of this process, from which others on the same machine can see whether it is still alive. */
export function ownName(): string {
  return `process:${host}:${process.pid}:${startOf(statOf(process.pid))}`;
}

/** Whether the process with this name has ended. One on another machine counts as alive, because it cannot be checked from here. */
export function isGone(owner: string): boolean {
  const [, where, pid, start] = FORM.exec(owner) ?? [];
  if (where !== host || pid === undefined) return false;
  if (!isAlive(Number(pid))) return true;
  const stat = statOf(Number(pid));
  // A zombie: it has ended with all its threads, but its parent has not collected its exit status.
  if (stat[0] === "Z" && Number(stat[17]) <= 1) return true;
  const now = startOf(stat);
  return start !== "0" && now !== "0" && now !== start;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** The start time of a process in Linux clock ticks, which tells apart two processes with the same id. "0" if it is not known. */
function startOf(stat: readonly string[]): string {
  return stat[19] ?? "0";
}

function statOf(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // There is no such file on this system, or it cannot be opened now. Then only the process id is compared.
    return [];
  }
}
