import process from "node:process";
import type { RunId } from "@ravi/kernel";

/** A run that Ctrl-C may stop. */
export interface Interruptible {
  readonly runId: RunId;
  /** Without a journal there is nothing to go on from, and the run is cancelled. */
  readonly canResume: boolean;
  stop(): void;
}

/** Runs that stop at Ctrl-C. The signal is the process's, and so is this list. */
const runs = new Set<Interruptible>();
let wasAsked = false;

/** The exit code of a process that was interrupted. */
const INTERRUPTED = 130;

/**
 * From now on the first Ctrl-C stops the run, so that it keeps its place, and the second one ends the process at once. Gives
 * how to leave; who leaves last takes the listener off.
 */
export function stopAtInterrupt(run: Interruptible): () => void {
  if (runs.size === 0) process.on("SIGINT", onInterrupt);
  runs.add(run);
  return () => {
    runs.delete(run);
    if (runs.size > 0) return;
    process.off("SIGINT", onInterrupt);
    wasAsked = false;
  };
}

/** Somebody sits at a terminal, and the program has no way of its own to deal with Ctrl-C. */
export function isInterruptWanted(): boolean {
  return process.stderr.isTTY && process.listenerCount("SIGINT") === (runs.size === 0 ? 0 : 1);
}

/** For a person at a terminal, who stopped the run; a program reads the result. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function onInterrupt(): void {
  if (wasAsked) process.exit(INTERRUPTED);
  wasAsked = true;
  for (const run of runs) {
    const what = run.canResume ? "is being suspended" : "has no journal and is being cancelled";
    say(`ravi: run ${run.runId} ${what}; Ctrl-C again ends at once`);
    run.stop();
  }
}
