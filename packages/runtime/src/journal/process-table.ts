import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

/** The processes that can be told apart by their numbers. A container has a table of its own, on the same machine. */
export interface ProcessTable {
  /** Two of the same name are the same table. */
  readonly name: string;
  /** Also where nobody can say. */
  isAlive(pid: number): boolean;
  /** Another process of the same number began at another time. Empty where nobody can say. */
  startOf(pid: number): string;
}

/** The table that this process stands in. */
export function processTable(): ProcessTable {
  return (here ??= lookAround());
}

/** A process never changes its table. */
let here: ProcessTable | undefined;

function lookAround(): ProcessTable {
  const host = encodeURIComponent(hostname());
  // Elsewhere a machine has one table.
  if (process.platform !== "linux") return { name: `${host}:`, isAlive, startOf: () => "" };
  const boot = read("/proc/sys/kernel/random/boot_id").trim();
  const pids = link("/proc/self/ns/pid");
  // Without them two containers would look alike, so nobody is known to be gone.
  if (boot === "" || pids === "") return { name: `${host}:unknown`, isAlive: () => true, startOf: () => "" };
  // When a process began is counted by the clock of whoever reads it, and that may be set apart as well.
  const name = encodeURIComponent([boot, pids, link("/proc/self/ns/time")].join());
  // The files may be those of the table around this one, in which a number is somebody else's. Then a process has a
  // number in each of the two.
  const isOurs = /^NSpid:\t\d+$/m.test(read("/proc/self/status"));
  if (!isOurs) return { name: `${host}:${name}`, isAlive, startOf: () => "" };
  return { name: `${host}:${name}`, isAlive: (pid) => isAlive(pid) && !isDefunct(pid), startOf };
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

function startOf(pid: number): string {
  return statOf(pid)[19] ?? "";
}

function statOf(pid: number): string[] {
  const stat = read(`/proc/${pid}/stat`);
  // The name of its program is in parentheses, and may have some of its own.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    // It is not there, or not for everybody to read: nothing is known then.
    return "";
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
