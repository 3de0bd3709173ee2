import * as fs from "node:fs";
import { link, readdir, unlink } from "node:fs/promises";
import * as paths from "node:path";
import { promisify } from "node:util";
import { makeFolders } from "@ravi/kernel/loop";
import type { SessionFile, SessionFiles } from "./files.ts";

const open = promisify(fs.open);
const fstat = promisify(fs.fstat);
const ftruncate = promisify(fs.ftruncate);
const fsync = promisify(fs.fsync);
const close = promisify(fs.close);

/**
 * The disk of this machine. It uses plain file descriptors, because Node ends the process when an unclosed `FileHandle` is
 * garbage-collected, and forgetting to close a session must not do that.
 */
export const nodeFiles: SessionFiles = Object.freeze({
  link,
  mkdir: async (path: string) => makeFolders(path, fs, paths),
  readdir,
  unlink,
  open: async (path: string, flags: number, mode?: number) => fileOf(await open(path, flags, mode)),
});

function fileOf(fd: number): SessionFile {
  return {
    stat: () => fstat(fd),
    read: (bytes, offset, length, position) =>
      new Promise((resolve, reject) => {
        fs.read(fd, bytes, offset, length, position, (error, bytesRead) =>
          error === null ? resolve({ bytesRead }) : reject(error),
        );
      }),
    write: (bytes, offset, length) =>
      new Promise((resolve, reject) => {
        fs.write(fd, bytes, offset, length, null, (error, bytesWritten) =>
          error === null ? resolve({ bytesWritten }) : reject(error),
        );
      }),
    truncate: (size) => ftruncate(fd, size),
    sync: () => fsync(fd),
    close: () => close(fd),
  };
}
