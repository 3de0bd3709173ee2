import { hasEnded, processStart, type ProcessTable } from "@ravi/kernel/loop";
import { moduleIfAny } from "../platform.ts";
import { processTable } from "./process-table.ts";

const FORM = /^process:([^:]*:[^:]*):(\d+):(\d*):/;

/**
 * The name of this process as an owner of claims. From it, other processes on the same machine can see whether this one is alive.
 */
export function processOwner(id: string): string {
  // Without Node there are no other processes that could ask.
  if (moduleIfAny("node:os") === undefined) return `elsewhere:${id}`;
  const table = processTable();
  return `process:${table.name}:${process.pid}:${processStart(process.pid, table)}:${id}`;
}

/**
 * Whether the owner is a process of the same process table that is certainly dead. Then its claim need not lapse first, and a
 * killed run can be resumed at once. An owner of another table counts as alive, because its pid means nothing here: a container
 * that shares the disk, and even the host name, has pids of its own.
 */
export function isOwnerGone(owner: string, table: ProcessTable = processTable()): boolean {
  const [, where, pid, start = "0"] = FORM.exec(owner) ?? [];
  return where === table.name && hasEnded(Number(pid), start, table);
}
