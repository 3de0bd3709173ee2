import { field } from "@ravi/kernel/provider";
import { nodeModule } from "../node-module.ts";

/** Information about the processes of this machine. */
export interface Processes {
  /** A name of this process, from which others on the same machine can see whether it is still alive. */
  readonly me: string;
  /** Whether the process with this name has ended. */
  isGone(owner: string): Promise<boolean>;
}

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

/** Whether the text is the whole name of a process. After a power failure a file may be cut off, or consist of zeros. */
export function isOwner(text: string): boolean {
  return FORM.test(text);
}

/** A process on another machine counts as alive, because it cannot be checked from here. */
export async function localProcesses(): Promise<Processes> {
  const process = nodeModule("node:process");
  const host = encodeURIComponent(nodeModule("node:os").hostname());
  const isAlive = (pid: number): boolean => {
    try {
      process.kill(pid, 0);
      return true;
    } catch (error) {
      return field(error, "code") !== "ESRCH";
    }
  };
  return {
    me: `process:${host}:${process.pid}:${startOf(await statOf(process.pid))}`,
    async isGone(owner) {
      const [, where, pid, start] = FORM.exec(owner) ?? [];
      if (where !== host || pid === undefined) return false;
      if (!isAlive(Number(pid))) return true;
      const stat = await statOf(Number(pid));
      // A zombie: it has ended with all its threads, but its parent has not collected its exit status.
      if (stat[0] === "Z" && Number(stat[17]) <= 1) return true;
      const now = startOf(stat);
      return start !== "0" && now !== "0" && now !== start;
    },
  };
}

/** The start time of a process in Linux clock ticks, which tells apart two processes with the same id. "0" if it is not known. */
function startOf(stat: readonly string[]): string {
  return stat[19] ?? "0";
}

async function statOf(pid: number): Promise<string[]> {
  const { readFile } = nodeModule("node:fs/promises");
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    // There is no such file on this system, or it cannot be opened now. Then only the process id is compared.
    return [];
  }
}
