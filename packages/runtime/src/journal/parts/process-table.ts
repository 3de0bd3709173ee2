import { type ProcessTable, processTable as tableOf } from "@ravi/kernel/loop";
import { nodeFiles, nodeModule } from "./platform.ts";

/** Cached: a process never changes its table. */
let here: ProcessTable | undefined;

/** The table of this process. */
export function processTable(): ProcessTable {
  return (here ??= tableOf({ process, fs: nodeFiles(), os: nodeModule("node:os") }));
}
