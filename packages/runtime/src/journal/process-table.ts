import { nodeFiles, nodeModule } from "../platform.ts";

/** A set of processes with their own pids. A container has its own table, on the same machine. */
export interface ProcessTable {
  /** Tables with the same name are the same. */
  readonly name: string;
  /** Also true if it cannot be determined. */
  isAlive(pid: number): boolean;
  /** The start time of a process: it differs if the pid is used again. Empty if it cannot be determined. */
  startOf(pid: number): string;
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
  const unknown = { name: `${host}:unknown`, isAlive: () => true, startOf: () => "" };
  if (host === "") return unknown;
  // On other platforms a machine has one table.
  if (process.platform !== "linux") return { name: `${host}:`, isAlive, startOf: () => "" };
  const boot = read("/proc/sys/kernel/random/boot_id").trim();
  const pids = link("/proc/self/ns/pid");
  if (boot === "" || pids === "") return unknown;
  // Start times depend on the time namespace of the reader.
  const name = encodeURIComponent([boot, pids, link("/proc/self/ns/time")].join());
  // /proc may be that of an outer pid namespace, where a pid belongs to another process. In that case a process has several pids in
  // `NSpid`.
  const isOurs = /^NSpid:\t\d+$/m.test(read("/proc/self/status"));
  if (!isOurs) return { name: `${host}:${name}`, isAlive, startOf: () => "" };
  return { name: `${host}:${name}`, isAlive: (pid) => isAlive(pid) && !isDefunct(pid), startOf };
}

/** Empty if it may not be read: Deno asks for a permission. */
function hostName(): string {
  try {
    return encodeURIComponent(nodeModule("node:os").hostname());
  } catch {
    return "";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not `instanceof`: it may be of another realm, as in jest.
    return (error as { readonly code?: unknown }).code !== "ESRCH";
  }
}

/**
 * Whether the process has ended with its last thread, and only its pid is left because its parent has not collected it (a zombie).
 * In a container whose first process is no init, that can last for ever.
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
  // The program's name is in parentheses, and may contain parentheses itself.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
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
