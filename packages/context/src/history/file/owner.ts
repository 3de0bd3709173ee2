import { hasEnded, processStart, type ProcessTable, processTable } from "@ravi/kernel/loop";
import { nodeModule } from "./node-module.ts";

/** The form of a claim's name: process id, its start time, a unique part, and where the process is: the host and its process table. */
const CLAIM_NAME = /^(\d+)\.(\d+)\.[\w-]+@(.*)$/;

interface Here {
  readonly table: ProcessTable;
  readonly place: string;
  readonly start: string;
}

let here: Here | undefined;

function thisProcess(): Here {
  return (here ??= findOut());
}

function findOut(): Here {
  const table = processTable({ process, fs: nodeModule("node:fs"), os: nodeModule("node:os") });
  const [host = "", name = ""] = table.name.split(":");
  return { table, place: `${host.slice(0, 100)}~${name}`, start: processStart(process.pid, table) };
}

/** A unique name for a claim, from which other processes on this machine can see whether its owner is still alive. */
export function claimName(unique: string): string {
  const { start, place } = thisProcess();
  return `${process.pid}.${start}.${unique}@${place}`;
}

export function isClaim(name: string): boolean {
  return CLAIM_NAME.test(name);
}

/** Whether it can be seen from here if the claim's owner lives: not on another machine or in another container. */
export function canTell(claim: string): boolean {
  const { table, place } = thisProcess();
  return table.isKnown && CLAIM_NAME.exec(claim)?.[3] === place;
}

/** Whether the process that made the claim has certainly ended. */
export function isOwnerGone(claim: string): boolean {
  const [, pid, start = "0"] = CLAIM_NAME.exec(claim) ?? [];
  return canTell(claim) && hasEnded(Number(pid), start, thisProcess().table);
}

/** The claim's process, for an error message. */
export function ownerOf(claim: string): string {
  const [, pid, , where = ""] = CLAIM_NAME.exec(claim) ?? [];
  return `process ${pid} on ${where.replace(/~\w*$/, "")}`;
}
