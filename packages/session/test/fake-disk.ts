import { constants } from "node:fs";
import { dirname } from "node:path";
import type { SessionFile, SessionFiles } from "@ravi/session";

interface Inode {
  now: Uint8Array;
  /** What is there whatever happens. */
  safe: Uint8Array;
  mtimeMs: number;
}

export interface FakeDiskOptions {
  readonly random: () => number;
  /** A disk that says it has synced and has not, to see that a test notices. */
  readonly lies?: boolean | undefined;
}

/** A disk in memory that loses, at a crash, what was not synced: all of it, a part, or parts with holes. */
export class FakeDisk implements SessionFiles {
  private readonly random: () => number;
  private readonly lies: boolean;
  private names = new Map<string, Inode>();
  private safeNames = new Map<string, Inode>();
  private left = Infinity;
  /** Its clock, in milliseconds. */
  now = 0;

  constructor({ random, lies = false }: FakeDiskOptions) {
    this.random = random;
    this.lies = lies;
  }

  /** The power goes after that many more operations. */
  dieAfter(operations: number): void {
    this.left = operations;
  }

  mend(): void {
    this.left = Infinity;
  }

  crash(): void {
    this.left = Infinity;
    const names = new Map<string, Inode>();
    for (const [name, inode] of this.safeNames) names.set(name, inode);
    // A name that was made or removed without a sync of its folder may be so or not.
    for (const [name, inode] of this.names)
      if (!names.has(name) && this.random() < 0.5) names.set(name, inode);
    for (const name of this.safeNames.keys())
      if (!this.names.has(name) && this.random() < 0.5) names.delete(name);
    for (const inode of new Set(names.values())) {
      inode.now = this.torn(inode);
      inode.safe = inode.now;
    }
    this.names = names;
    this.safeNames = new Map(names);
  }

  /** The bytes of the file whose name ends so. */
  bytes(ending: string): Uint8Array {
    return this.inode(ending).now;
  }

  /** Puts other bytes in their place. */
  damage(ending: string, bytes: Uint8Array): void {
    this.inode(ending).now = bytes;
  }

  private inode(ending: string): Inode {
    for (const [name, inode] of this.names) if (name.endsWith(ending)) return inode;
    throw new Error(`no file ends with ${ending}`);
  }

  async mkdir(): Promise<undefined> {
    this.tick();
  }

  async open(path: string, flags: number): Promise<SessionFile> {
    this.tick();
    if ((flags & (constants.O_DIRECTORY ?? 0)) !== 0) return this.folder(path);
    let inode = this.names.get(path);
    if ((flags & constants.O_EXCL) !== 0 && inode !== undefined) throw coded("EEXIST");
    if (inode === undefined) {
      if ((flags & constants.O_CREAT) === 0) throw coded("ENOENT");
      inode = { now: new Uint8Array(), safe: new Uint8Array(), mtimeMs: this.now };
      this.names.set(path, inode);
    }
    return this.file(inode);
  }

  async link(existing: string, name: string): Promise<void> {
    this.tick();
    const inode = this.names.get(existing);
    if (inode === undefined) throw coded("ENOENT");
    if (this.names.has(name)) throw coded("EEXIST");
    this.names.set(name, inode);
  }

  async unlink(path: string): Promise<void> {
    this.tick();
    if (!this.names.delete(path)) throw coded("ENOENT");
  }

  async readdir(path: string): Promise<string[]> {
    this.tick();
    return [...this.names.keys()]
      .filter((name) => dirname(name) === path)
      .map((name) => name.slice(path.length + 1));
  }

  private file(inode: Inode): SessionFile {
    return {
      stat: async () => ({ size: inode.now.length, mtimeMs: inode.mtimeMs }),
      read: async (bytes, offset, length, position) => {
        this.tick();
        const part = inode.now.subarray(position, position + length);
        bytes.set(part, offset);
        return { bytesRead: part.length };
      },
      write: async (bytes, offset, length) => {
        // A disk that dies while it writes has written some of it.
        const isLast = this.left <= 1;
        const count = isLast || this.random() < 0.1 ? Math.floor(this.random() * length) : length;
        if (!isLast) this.tick();
        const now = new Uint8Array(inode.now.length + Math.max(count, isLast ? 0 : 1));
        now.set(inode.now);
        now.set(bytes.subarray(offset, offset + now.length - inode.now.length), inode.now.length);
        const bytesWritten = now.length - inode.now.length;
        inode.now = now;
        inode.mtimeMs = this.now;
        if (isLast) this.tick();
        return { bytesWritten };
      },
      truncate: async (size) => {
        this.tick();
        inode.now = inode.now.slice(0, size);
      },
      sync: async () => {
        this.tick();
        if (!this.lies) inode.safe = inode.now;
      },
      close: async () => {},
    };
  }

  private folder(path: string): SessionFile {
    const never = async (): Promise<never> => {
      throw coded("EISDIR");
    };
    const sync = async (): Promise<void> => {
      this.tick();
      for (const name of this.safeNames.keys())
        if (dirname(name) === path && !this.names.has(name)) this.safeNames.delete(name);
      for (const [name, inode] of this.names) if (dirname(name) === path) this.safeNames.set(name, inode);
    };
    return { stat: never, read: never, write: never, truncate: never, sync, close: async () => {} };
  }

  private torn({ now, safe }: Inode): Uint8Array {
    if (now.length <= safe.length) return this.random() < 0.5 ? now : safe;
    const length = safe.length + Math.floor(this.random() * (now.length - safe.length + 1));
    const torn = now.slice(0, length);
    // Blocks reach a disk in any order: what comes before the end may be missing.
    if (length - safe.length > 8 && this.random() < 0.3) torn.fill(0, safe.length, length - 4);
    return torn;
  }

  private tick(): void {
    if (this.left <= 0) throw coded("EIO");
    this.left--;
    if (this.left === 0) this.left = -1;
  }
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}
