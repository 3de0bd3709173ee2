import { Buffer } from "node:buffer";
import { hasCode } from "@ravi/kernel/loop";
import { APPEND, type SessionFiles, withFile, writeAll } from "./files.ts";

const RENEW_MS = 10_000;
/** A note that was not renewed for so long counts as that of a dead process, where nobody can tell whether it lives. */
export const EXPIRES_MS = 30_000;
/** Longer than anybody needs between looking at a note and taking the lock over. */
const GRACE_MS = 1_000;

/** What a holder knows of time. */
export interface LockTime {
  now(): number;
  pause(milliseconds: number): Promise<void>;
  /** Returns a function that ends it. */
  every(milliseconds: number, task: () => void): () => void;
}

// Taken when this file is loaded, because the fake timers of a test runner may replace them later.
const [setRealTimer, setRealInterval, clearRealInterval] = [setTimeout, setInterval, clearInterval];
const realNow = Date.now.bind(Date);

export const realTime: LockTime = {
  now: realNow,
  pause: (milliseconds) => new Promise((resolve) => void setRealTimer(resolve, milliseconds)),
  every(milliseconds, task) {
    const timer = setRealInterval(task, milliseconds);
    timer.unref?.();
    return () => clearRealInterval(timer);
  },
};

export interface HeldNoteOptions {
  readonly files: SessionFiles;
  readonly path: string;
  /** Whether somebody has taken the lock over. */
  readonly isTaken: () => Promise<boolean>;
  readonly time: LockTime;
}

/**
 * The note by which this process holds a lock. It is renewed all the time, so that others can see that this process lives even if they
 * do not see the process. Each renewal appends a line end: then the file system sets the time, and not the clock of this machine.
 */
export class HeldNote {
  private readonly options: HeldNoteOptions;
  private readonly stopRenewing: () => void;
  private renewedAt: number;
  private renewing: Promise<void> | undefined;
  private isLost = false;

  constructor(options: HeldNoteOptions) {
    const { time } = options;
    this.options = options;
    this.renewedAt = time.now();
    this.stopRenewing = time.every(RENEW_MS, () => void this.renew().catch(() => undefined));
  }

  /** Whether the lock is still held. It was taken over if this process stood still for too long. */
  isHeld(): boolean | Promise<boolean> {
    if (this.isLost || this.isRecent) return !this.isLost;
    return this.renew().then(() => !this.isLost);
  }

  async stop(): Promise<void> {
    this.stopRenewing();
    await this.renewing?.catch(() => undefined);
  }

  renew(): Promise<void> {
    return (this.renewing ??= this.renewNow().finally(() => {
      this.renewing = undefined;
    }));
  }

  private get isRecent(): boolean {
    const age = this.options.time.now() - this.renewedAt;
    // Below 0 the clock was set back, and the real age is not known.
    return age >= 0 && age < EXPIRES_MS / 2;
  }

  private async renewNow(): Promise<void> {
    const { files, path, isTaken, time } = this.options;
    const { isRecent } = this;
    const now = time.now();
    try {
      await withFile(files, path, APPEND, (file) => writeAll(file, Buffer.from("\n")));
      // Somebody may have looked at it just before.
      if (!isRecent) await time.pause(GRACE_MS);
      this.isLost ||= await isTaken();
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error;
      this.isLost = true;
    }
    this.renewedAt = now;
  }
}
