import { hasEnded, processStart } from "@ravi/kernel/loop";
import { nodeModule } from "../node-module.ts";

/** The form of a claim's name: process id, its start time, a unique part, and the host. */
const CLAIM_NAME = /^(\d+)\.(\d+)\.[\w-]+@(.*)$/;

let host: string | undefined;
let startTime: string | undefined;

function thisHost(): string {
  return (host ??= encodeURIComponent(nodeModule("node:os").hostname()).slice(0, 100));
}

const reads = {
  kill: (pid: number) => process.kill(pid, 0),
  read: (path: string) => nodeModule("node:fs").readFileSync(path, "latin1"),
};

/** A unique name for a claim, from which other processes on this machine can see whether its owner is still alive. */
export function claimName(unique: string): string {
  startTime ??= processStart(process.pid, reads);
  return `${process.pid}.${startTime}.${unique}@${thisHost()}`;
}

export function isClaim(name: string): boolean {
  return CLAIM_NAME.test(name);
}

/**
 * Whether the process that made the claim has ended. A process on another machine counts as alive, because it cannot be checked.
 */
export function isOwnerGone(claim: string): boolean {
  const [, pid, start = "0", where] = CLAIM_NAME.exec(claim) ?? [];
  return where === thisHost() && hasEnded(Number(pid), start, reads);
}

/** The claim's process, for an error message. */
export function ownerOf(claim: string): string {
  const [, pid, , where] = CLAIM_NAME.exec(claim) ?? [];
  return `process ${pid} on ${where}`;
}
