import { mkdir, open, unlink } from "node:fs/promises";
import type { HistoryFiles } from "./files.ts";
import { lockFile } from "./lock.ts";

/** The disk of this machine. */
export const nodeFiles: HistoryFiles = Object.freeze({ mkdir, open, unlink, lock: lockFile });
