import { hasEnded, processStart } from "@ravi/kernel/loop";
import { nodeModule } from "../node-module.ts";

/** Information about the processes of this machine. */
export interface Processes {
  /** A name of this process, from which others on the same machine can see whether it is still alive. */
  readonly me: string;
  /** Whether the process with this name has ended. */
  isGone(owner: string): boolean;
}

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

/** Whether the text is the whole name of a process. After a power failure a file may be cut off, or consist of zeros. */
export function isOwner(text: string): boolean {
  return FORM.test(text);
}

/** A process on another machine counts as alive, because it cannot be checked from here. */
export function localProcesses(): Processes {
  const process = nodeModule("node:process");
  const { readFileSync } = nodeModule("node:fs");
  const host = encodeURIComponent(nodeModule("node:os").hostname());
  const reads = { kill: process.kill.bind(process), read: (path: string) => readFileSync(path, "latin1") };
  return {
    me: `process:${host}:${process.pid}:${processStart(process.pid, reads)}`,
    isGone(owner) {
      const [, where, pid, start = "0"] = FORM.exec(owner) ?? [];
      return where === host && hasEnded(Number(pid), start, reads);
    },
  };
}
