import { Buffer } from "node:buffer";
import { join, resolve } from "node:path";
import { checkBoolean, checkFields, InvalidValueError, isRaviError, JournalFailedError } from "@ravi/kernel";
import { checkPort, hasCode } from "@ravi/kernel/loop";
import { sessionFailed } from "../errors.ts";
import { FileLog, closeAndRelease, type Opened } from "./file-log.ts";
import {
  APPEND,
  namesIn,
  READ,
  readAt,
  remove,
  type SessionFile,
  type SessionFiles,
  syncFolder,
  withFile,
} from "./files.ts";
import { nodeFiles } from "./node-files.ts";
import { readHeader } from "./line-format.ts";
import { checkLiveness, type Liveness, processLiveness } from "./owner.ts";
import { FILE_EXTENSION, type SessionLocation, locationOf } from "./location.ts";
import { scan } from "./scan.ts";
import type { SessionInfo, SessionLog, SessionStore } from "./store.ts";

/** The options of `FileSessionStore`. */
export interface FileSessionStoreOptions {
  /**
   * Whether each entry is flushed to the disk (fsync) before it counts as written. Default: true. With `false`, a power failure
   * can lose entries.
   */
  readonly sync?: boolean | undefined;
  /** Access to files. Default: the disk of this machine. */
  readonly files?: SessionFiles | undefined;
  /** Identifies the holders of locks, and which of them no longer exist. Default: processes of this machine. */
  readonly liveness?: Liveness | undefined;
}

const MAX_HEADER_BYTES = 8_192;

/** Stores sessions in a folder, in one append-only file each that only its owner can read. */
export class FileSessionStore implements SessionStore {
  readonly directory: string;
  private readonly files: SessionFiles;
  private readonly sync: boolean;
  private readonly liveness: Liveness;
  private readonly abandoned = new Set<string>();

  /** The folder is created by the first write. Throws an `InvalidValueError` if an option is wrong. */
  constructor(directory: string, options: FileSessionStoreOptions = {}) {
    checkFields("FileSessionStore options", options, ["sync", "files", "liveness"]);
    if (typeof directory !== "string" || directory === "" || directory.includes("\0")) {
      throw new InvalidValueError({ field: "directory", value: directory, expected: "the path of a folder" });
    }
    this.directory = resolve(directory);
    const { files = nodeFiles, liveness = processLiveness() } = options;
    checkPort("FileSessionStore options.files", files, ["mkdir", "open", "link", "unlink", "readdir"]);
    this.files = files;
    this.sync = checkBoolean("FileSessionStore options.sync", options.sync ?? true);
    this.liveness = checkLiveness("FileSessionStore options.liveness", liveness);
  }

  async open(id: string): Promise<SessionLog> {
    const location = this.locationOf(id);
    if (!(await this.exists(id, location))) return new FileLog(id, location, undefined);
    return new FileLog(id, location, await this.openFile(id, location));
  }

  async list(): Promise<readonly SessionInfo[]> {
    const infos: SessionInfo[] = [];
    try {
      for (const name of await namesIn(this.files, this.directory)) {
        if (!name.startsWith("s-") || !name.endsWith(FILE_EXTENSION)) continue;
        const info = await this.infoIn(join(this.directory, name));
        if (info !== undefined) infos.push(info);
      }
    } catch (cause) {
      const what = `the sessions in ${this.directory} could not be listed`;
      throw new JournalFailedError({ what, final: false, cause });
    }
    return infos.toSorted((a, b) => a.createdAt - b.createdAt);
  }

  async delete(id: string): Promise<void> {
    const location = this.locationOf(id);
    if (!(await this.exists(id, location))) return;
    const lock = await location.claim();
    try {
      try {
        await remove(this.files, location.path);
        if (this.sync) await syncFolder(this.files, this.directory);
      } finally {
        await lock.release();
      }
    } catch (cause) {
      throw sessionFailed(id, "deleted", cause);
    }
  }

  private async openFile(id: string, location: SessionLocation): Promise<Opened> {
    const lock = await location.claim();
    let file: SessionFile | undefined;
    try {
      file = await this.files.open(location.path, APPEND);
      const { info, heads, whole } = await scan(file, id);
      if (whole < (await file.stat()).size) {
        await file.truncate(whole);
        if (this.sync) await file.sync();
      }
      return { file, lock, size: whole, info, heads };
    } catch (error) {
      // The first error is the one to report.
      await closeAndRelease(file, lock).catch(() => undefined);
      throw isRaviError(error) ? error : sessionFailed(id, "opened", error);
    }
  }

  private async exists(id: string, { path }: SessionLocation): Promise<boolean> {
    try {
      await withFile(this.files, path, READ, async () => {});
      return true;
    } catch (error) {
      if (hasCode(error, "ENOENT")) return false;
      throw sessionFailed(id, "opened", error);
    }
  }

  private async infoIn(path: string): Promise<SessionInfo | undefined> {
    try {
      const bytes = Buffer.alloc(MAX_HEADER_BYTES);
      const length = await withFile(this.files, path, READ, (file) => readAt(file, 0, bytes));
      const text = bytes.toString("utf8", 0, length);
      const info = readHeader(text.slice(0, text.indexOf("\n")));
      return info === undefined || "format" in info ? undefined : info;
    } catch (error) {
      // It was removed meanwhile, or is a folder or a symbolic link that somebody has put there: no session of this store.
      if (["ENOENT", "ELOOP", "EISDIR"].some((code) => hasCode(error, code))) return undefined;
      throw error;
    }
  }

  private locationOf(id: string): SessionLocation {
    const { files, directory: root, sync, liveness, abandoned } = this;
    return locationOf(id, { files, root, sync, liveness, abandoned });
  }
}
