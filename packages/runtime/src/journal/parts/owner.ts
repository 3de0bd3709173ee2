import { JournalLockedError, type RunId } from "@ravi/kernel";
import { hasEnded, processStart, type ProcessTable } from "@ravi/kernel/loop";
import { moduleIfAny } from "./platform.ts";
import type { Claim } from "../claims.ts";
import { processTable } from "./process-table.ts";

const FORM = /^process:(([^:]*):[^:]*):(\d+):(\d+):/;
const ELSEWHERE = "elsewhere:";

/**
 * The name of this process as an owner of claims. From it, other processes on the same machine can see whether this one is alive.
 */
export function processOwner(id: string): string {
  // Without Node there are no other processes that could ask.
  if (moduleIfAny("node:os") === undefined) return `${ELSEWHERE}${id}`;
  const table = processTable();
  return `process:${table.name}:${process.pid}:${processStart(process.pid, table)}:${id}`;
}

/**
 * Whether the owner is a process of the same process table that is certainly dead. Then its claim need not lapse first, and a
 * killed run can be resumed at once. An owner of another table counts as alive, because its pid means nothing here: a container
 * that shares the disk, and even the host name, has pids of its own.
 */
export function isOwnerGone(owner: string, table: ProcessTable = processTable()): boolean {
  const [, where, , pid, start = "0"] = FORM.exec(owner) ?? [];
  return where === table.name && hasEnded(Number(pid), start, table);
}

/** The error for a run that somebody else has, with what the claim says about that one. */
export function lockedBy(runId: RunId, claim?: Pick<Claim, "owner" | "expires">): JournalLockedError {
  const { owner, expires: expiresAt } = claim ?? {};
  if (owner === undefined || owner === null || owner.startsWith(ELSEWHERE))
    return new JournalLockedError({ runId, owner: "another process, or another call in this one" });
  const [, where, host, pid] = FORM.exec(owner) ?? [];
  if (pid === undefined) return new JournalLockedError({ runId, owner, expiresAt });
  const isHere = Number(pid) === process.pid && where === processTable().name;
  const named = host === "" ? `process ${pid}` : `process ${pid} on ${host}`;
  const words = isHere ? `another call in this process (${pid})` : named;
  return new JournalLockedError({ runId, owner: words, pid: Number(pid), host, expiresAt });
}
