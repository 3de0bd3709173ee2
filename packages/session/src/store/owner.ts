import * as fs from "node:fs";
import * as os from "node:os";
import { InvalidValueError } from "@ravi/kernel";
import { hasEnded, hasMethod, processStart, processTable } from "@ravi/kernel/loop";

/** Identifies who holds a lock, and whether that holder still exists. */
export interface Liveness {
  /** The name under which this process holds locks. */
  readonly me: string;
  /** Whether this holder certainly no longer exists. */
  isGone(owner: string): boolean;
  /**
   * Whether `isGone` can tell at all. The lock of a holder of which it cannot, such as one on another machine, expires 30 s after it
   * was last renewed. Default: it can.
   */
  canTell?(owner: string): boolean;
}

const FORM = /^process:([^:]*:[^:]*):(\d+):(\d+)$/;

/** Processes of this machine, or of this container: one in another container has a pid that means nothing here. */
export function processLiveness(): Liveness {
  const table = processTable({ process, fs, os });
  return {
    me: `process:${table.name}:${process.pid}:${processStart(process.pid, table)}`,
    isGone(owner) {
      const [, where, pid, start = "0"] = FORM.exec(owner) ?? [];
      // Not a complete name: the lock was being written at a power failure, and nobody holds it.
      if (where === undefined) return true;
      return where === table.name && hasEnded(Number(pid), start, table);
    },
    canTell: (owner) => table.isKnown && FORM.exec(owner)?.[1] === table.name,
  };
}

/** Without a name, a lock would look like one that nobody holds. */
export function checkLiveness(field: string, value: Liveness): Liveness {
  if (hasMethod(value, "isGone") && typeof value.me === "string" && value.me !== "") return value;
  const expected = "an object with a name in `me`, and a method isGone";
  throw new InvalidValueError({ field, value, expected });
}
