import { makeFolders } from "@ravi/kernel/loop";
import { nodeModule } from "./node-module.ts";
import type { HistoryFiles } from "../files.ts";
import { lockFile } from "./lock.ts";

/** The disk of this machine. */
export const nodeFiles: HistoryFiles = Object.freeze<HistoryFiles>({
  mkdir: async (path) => makeFolders(path, nodeModule("node:fs"), nodeModule("node:path")),
  open: (path, flags, mode) => nodeModule("node:fs/promises").open(path, flags, mode),
  unlink: (path) => nodeModule("node:fs/promises").unlink(path),
  lock: lockFile,
});
