import { nodeModule } from "../node-module.ts";
import type { HistoryFiles } from "./files.ts";
import { lockFile } from "./lock.ts";

/** The disk of this machine. */
export const nodeFiles: HistoryFiles = Object.freeze<HistoryFiles>({
  mkdir: (path, options) => nodeModule("node:fs/promises").mkdir(path, options),
  open: (path, flags, mode) => nodeModule("node:fs/promises").open(path, flags, mode),
  unlink: (path) => nodeModule("node:fs/promises").unlink(path),
  lock: lockFile,
});
