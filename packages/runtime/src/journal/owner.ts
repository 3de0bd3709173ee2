import { hostname } from "node:os";

const FORM = /^process:([^:]*):(\d+):/;

/** A name for this process as the owner of claims, by which others on the same machine can see whether it still lives. */
export function processOwner(id: string): string {
  return `process:${encodeURIComponent(hostname())}:${process.pid}:${id}`;
}

/**
 * Whether the owner is a process of this machine that is no more. Then nobody has to wait until its claim lapses: a killed
 * run is resumed at once. An owner of another machine, or whose number another process has now, counts as living.
 */
export function isOwnerGone(owner: string): boolean {
  const [, host, pid] = FORM.exec(owner) ?? [];
  if (host !== encodeURIComponent(hostname()) || pid === undefined) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}
