import disk, { mkdtemp, open, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { FileAuditLog } from "@ravi/middleware";

test("J11: a new log is on the disk with its name in its folder, once, before its first entry is confirmed", async () => {
  const synced: string[] = [];
  const opening = vi.spyOn(disk, "open").mockImplementation(async (path, ...rest) => {
    const file = await open(path, ...rest);
    const sync = file.sync.bind(file);
    return Object.assign(file, { sync: () => (synced.push(String(path)), sync()) });
  });
  onTestFinished(() => opening.mockRestore());
  const folder = await realpath(await mkdtemp(join(tmpdir(), "ravi-audit-")));
  try {
    const path = join(folder, "audit.jsonl");
    const log = await FileAuditLog.open(path);
    const entry = { at: 1, actor: "lead", action: "tool", target: "t", outcome: "ok" } as const;
    await log.append(entry);
    expect(synced).toEqual([path, folder]);
    await log.append(entry);
    expect(synced).toEqual([path, folder, path]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
