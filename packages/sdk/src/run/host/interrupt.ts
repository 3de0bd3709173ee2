import type { RunId } from "@ravi/kernel";
import { hasModule, nodeModule } from "../../node/node-module.ts";

/** A run that Ctrl-C stops. */
export interface Interruptible {
  readonly runId: RunId;
  /** False without a journal: the run is then cancelled instead of suspended. */
  readonly canResume: boolean;
  stop(): void;
}

/** All runs that stop at Ctrl-C. A signal belongs to the whole process, and so does this list. */
const runs = new Set<Interruptible>();
/** Whether Ctrl-C was pressed, and these runs have not all stopped yet. */
let wasPressed = false;

/** The exit code of a process that was interrupted. */
const INTERRUPTED = 130;

/**
 * From now on the first Ctrl-C stops the run (with a journal, it can be resumed), and the second one ends the process at once.
 * Returns a function that ends this; the last run to call it removes the listener.
 */
export function stopAtInterrupt(run: Interruptible): () => void {
  if (runs.size === 0) nodeModule("node:process").on("SIGINT", onInterrupt);
  runs.add(run);
  return () => {
    runs.delete(run);
    if (runs.size > 0) return;
    nodeModule("node:process").off("SIGINT", onInterrupt);
    wasPressed = false;
  };
}

/** Whether standard error is a terminal and no other code of the program listens for SIGINT. */
export function isInterruptWanted(): boolean {
  if (!hasModule("node:process")) return false;
  const process = nodeModule("node:process");
  return process.stderr.isTTY && process.listenerCount("SIGINT") === (runs.size === 0 ? 0 : 1);
}

/** Writes to standard error, for the person who pressed Ctrl-C. */
export function printLine(text: string): void {
  nodeModule("node:process").stderr.write(`${text}\n`);
}

function onInterrupt(): void {
  if (wasPressed) nodeModule("node:process").exit(INTERRUPTED);
  wasPressed = true;
  for (const run of runs) {
    const what = run.canResume ? "is being suspended" : "has no journal and is being cancelled";
    printLine(`ravi: run ${run.runId} ${what}; press Ctrl-C again to exit at once`);
    run.stop();
  }
}
