import { codeAt } from "./code-at.ts";
import type { ProcessReads } from "./process-life.ts";

/** A set of processes with their own pids. A container has its own table, on the same machine and often with the same host name. */
export interface ProcessTable extends ProcessReads {
  /** `<host>:<table>`. Tables with the same name are the same. */
  readonly name: string;
  /** Whether its name is known to be that of one table alone. If not, nobody can tell whether a process with that name lives. */
  readonly isKnown: boolean;
}

/** What Node tells a process about its table: `process`, `node:fs` and `node:os`. */
export interface TableSources {
  readonly process: { readonly platform: string; kill(pid: number, signal: 0): unknown };
  readonly fs: { readFileSync(path: string, encoding: "latin1"): string; readlinkSync(path: string): string };
  readonly os: { hostname(): string };
}

/** The table of this process. */
export function processTable({ process, fs, os }: TableSources): ProcessTable {
  const kill = (pid: number, signal: 0): unknown => process.kill(pid, signal);
  const read = (path: string): string => orNothing(() => fs.readFileSync(path, "latin1"));
  const link = (path: string): string => orNothing(() => fs.readlinkSync(path));
  // Deno asks for a permission.
  const host = encodeURIComponent(orNothing(() => os.hostname()));
  // Without these, two machines or two containers would look the same, so no process can be known to be dead.
  const unknown = { name: `${host}:unknown`, isKnown: false, kill: () => true, read: () => "" };
  if (host === "") return unknown;
  // On other platforms a machine has one table.
  if (process.platform !== "linux") return { name: `${host}:`, isKnown: true, kill, read: () => "" };
  const boot = read("/proc/sys/kernel/random/boot_id").trim();
  const pids = link("/proc/self/ns/pid");
  if (boot === "" || pids === "") return unknown;
  // Start times depend on the time namespace of the reader.
  const name = `${host}:${shortOf([boot, pids, link("/proc/self/ns/time")].join())}`;
  // /proc may be that of an outer pid namespace, where a pid belongs to another process. In that case a process has several pids in
  // `NSpid`.
  const isOurs = /^NSpid:\t\d+$/m.test(read("/proc/self/status"));
  return { name, isKnown: true, kill, read: isOurs ? read : () => "" };
}

/** Empty if it does not exist or may not be read: then nothing is known. */
function orNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}

/** FNV-1a. The names of locks and the errors about them contain it, so it is short. */
function shortOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ codeAt(text, at), 0x01000193);
  return (hash >>> 0).toString(36);
}
