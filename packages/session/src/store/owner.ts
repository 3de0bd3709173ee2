import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { InvalidValueError } from "@ravi/kernel";
import { hasEnded, hasMethod, processStart } from "@ravi/kernel/loop";

/** Identifies who holds a lock, and whether that holder still exists. */
export interface Liveness {
  /** The name under which this process holds locks. */
  readonly me: string;
  /** Whether this holder certainly no longer exists. */
  isGone(owner: string): boolean;
}

const FORM = /^process:([^:]*):(\d+):(\d+)$/;

/** Processes of this machine. A holder on another machine counts as living, since that cannot be known here. */
export function processLiveness(): Liveness {
  const host = encodeURIComponent(hostname());
  const reads = { kill: process.kill.bind(process), read: (path: string) => readFileSync(path, "latin1") };
  return {
    me: `process:${host}:${process.pid}:${processStart(process.pid, reads)}`,
    isGone(owner) {
      const [, where, pid, start = "0"] = FORM.exec(owner) ?? [];
      // Not a complete name: the lock was being written at a power failure, and nobody holds it.
      if (where === undefined) return true;
      return where === host && hasEnded(Number(pid), start, reads);
    },
  };
}

/** Without a name, a lock would look like one that nobody holds. */
export function checkLiveness(field: string, value: Liveness): Liveness {
  if (hasMethod(value, "isGone") && typeof value.me === "string" && value.me !== "") return value;
  const expected = "an object with a name in `me`, and a method isGone";
  throw new InvalidValueError({ field, value, expected });
}
