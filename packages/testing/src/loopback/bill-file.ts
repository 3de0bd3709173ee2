import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { InvalidValueError } from "@ravi/kernel";
import { type BillEntry, parseBill } from "./read-bill.ts";

/** Where a bill is stored. */
export interface BillDisk {
  /** The entries that were there when it was opened. */
  readonly entries: readonly BillEntry[];
  /** Resolves when the lines are on the disk. */
  append(lines: string): Promise<void>;
  close(): Promise<void>;
}

const NEWLINE = 0x0a;

/**
 * Opens a bill file, or creates it. A last line that was cut off is removed, so that the next one is not joined with it; its
 * request was never answered. Any other damage throws an error, and the file is not changed.
 */
export async function openBillFile(file: string): Promise<BillDisk> {
  let handle: FileHandle | undefined;
  try {
    await mkdir(dirname(file), { recursive: true });
    handle = await open(file, "a+", 0o600);
    const entries = await readWhole(handle, file);
    return diskOf(handle, entries);
  } catch (cause) {
    await handle?.close();
    if (cause instanceof InvalidValueError) throw cause;
    const expected = "a file that can be written";
    throw new InvalidValueError({ field: "billFile", value: file, expected, cause });
  }
}

async function readWhole(handle: FileHandle, file: string): Promise<readonly BillEntry[]> {
  if (!(await handle.stat()).isFile()) {
    throw new InvalidValueError({ field: "billFile", value: file, expected: "a regular file" });
  }
  const bytes = await handle.readFile();
  const whole = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
  const entries = parseBill(whole.toString("utf8"), file);
  if (whole.length < bytes.length) await handle.truncate(whole.length);
  return entries;
}

function diskOf(handle: FileHandle, entries: readonly BillEntry[]): BillDisk {
  return {
    entries,
    async append(lines) {
      await handle.appendFile(lines);
      await handle.datasync();
    },
    close: () => handle.close(),
  };
}
