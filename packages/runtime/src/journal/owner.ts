import { type ProcessTable, processTable } from "./process-table.ts";

const FORM = /^process:([^:]*:[^:]*):(\d+):(\d*):/;

/** A name for this process as the owner of claims, by which others of its table can see whether it still lives. */
export function processOwner(id: string): string {
  const table = processTable();
  return `process:${table.name}:${process.pid}:${table.startOf(process.pid)}:${id}`;
}

/**
 * Whether the owner is a process of this very table that is certainly no more. Then nobody has to wait until its claim
 * lapses: a killed run is resumed at once. An owner of another table counts as living, since its number says nothing here:
 * a container that shares the disk, and even the name of the machine, has numbers of its own.
 */
export function isOwnerGone(owner: string, table: ProcessTable = processTable()): boolean {
  const [, where, pid, start] = FORM.exec(owner) ?? [];
  if (where !== table.name || pid === undefined) return false;
  if (!table.isAlive(Number(pid))) return true;
  const now = table.startOf(Number(pid));
  return start !== "" && now !== "" && now !== start;
}
