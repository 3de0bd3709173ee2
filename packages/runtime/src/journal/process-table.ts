import type { ProcessReads } from "@ravi/kernel/loop";
import { nodeFiles, nodeModule } from "../platform.ts";

/** A set of processes with their own pids. A container has its own table, on the same machine. */
export interface ProcessTable extends ProcessReads {
  /** Tables with the same name are the same. */
  readonly name: string;
}

/** The table of this process. */
export function processTable(): ProcessTable {
  return (here ??= detectTable());
}

/** Cached: a process never changes its table. */
let here: ProcessTable | undefined;

function detectTable(): ProcessTable {
  const host = hostName();
  // Without these, two machines or two containers would look the same, so no process can be known to be dead.
  const unknown = { name: `${host}:unknown`, kill: () => true, read: () => "" };
  if (host === "") return unknown;
  // On other platforms a machine has one table.
  if (process.platform !== "linux") return { name: `${host}:`, kill, read: () => "" };
  const boot = read("/proc/sys/kernel/random/boot_id").trim();
  const pids = link("/proc/self/ns/pid");
  if (boot === "" || pids === "") return unknown;
  // Start times depend on the time namespace of the reader.
  const name = encodeURIComponent([boot, pids, link("/proc/self/ns/time")].join());
  // /proc may be that of an outer pid namespace, where a pid belongs to another process. In that case a process has several pids in
  // `NSpid`.
  const isOurs = /^NSpid:\t\d+$/m.test(read("/proc/self/status"));
  return { name: `${host}:${name}`, kill, read: isOurs ? read : () => "" };
}

/** Empty if it may not be read: Deno asks for a permission. */
function hostName(): string {
  try {
    return encodeURIComponent(nodeModule("node:os").hostname());
  } catch {
    return "";
  }
}

function kill(pid: number, signal: 0): boolean {
  return process.kill(pid, signal);
}

function read(path: string): string {
  try {
    return nodeFiles().readFileSync(path, "latin1");
  } catch {
    // It does not exist or may not be read: nothing is known.
    return "";
  }
}

function link(path: string): string {
  try {
    return nodeFiles().readlinkSync(path);
  } catch {
    return "";
  }
}
