import { hasEnded, processStart, processTable } from "@ravi/kernel/loop";
import { nodeModule } from "../../common/node-module.ts";

/** Information about the processes of this machine. */
export interface Processes {
  /** A name of this process, from which others on the same machine can see whether it is still alive. */
  readonly me: string;
  /** Whether it can be seen from here if the process with this name lives: not on another machine or in another container. */
  canTell(owner: string): boolean;
  /** Whether the process with this name has certainly ended. */
  isGone(owner: string): boolean;
}

const FORM = /^process:([^:]*:[^:]*):(\d+):(\d+)$/;

/** Whether the text is the whole name of a process. After a power failure a file may be cut off, or consist of zeros. */
export function isOwner(text: string): boolean {
  return FORM.test(text);
}

let local: Processes | undefined;

export function localProcesses(): Processes {
  return (local ??= findProcesses());
}

function findProcesses(): Processes {
  const process = nodeModule("node:process");
  const table = processTable({ process, fs: nodeModule("node:fs"), os: nodeModule("node:os") });
  const canTell = (owner: string): boolean => table.isKnown && FORM.exec(owner)?.[1] === table.name;
  return {
    me: `process:${table.name}:${process.pid}:${processStart(process.pid, table)}`,
    canTell,
    isGone(owner) {
      const [, , pid, start = "0"] = FORM.exec(owner) ?? [];
      return canTell(owner) && hasEnded(Number(pid), start, table);
    },
  };
}
