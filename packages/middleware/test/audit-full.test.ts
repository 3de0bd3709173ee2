import disk, {
  appendFile,
  mkdtemp,
  open,
  readdir,
  readFile,
  realpath,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FileAuditLog } from "@ravi/middleware";
import { localProcesses } from "../src/audit-log/file/owner.ts";

/**
 * Which calls of an open file fail as on a full disk; `appendFile` leaves half of what it was given, also of a claim's name, and
 * `appendLine` is that of the log alone.
 */
const failing = new Set<"appendFile" | "appendLine" | "truncate" | "sync">();
/** What a program that knows nothing of claims writes right after the log's own line. */
let foreign = "";
const full = (): Error => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
vi.spyOn(disk, "open").mockImplementation(async (path, ...rest) => {
  const file = await open(path, ...rest);
  const { appendFile: append, truncate, sync } = file;
  return Object.assign(file, {
    async appendFile(text: string) {
      const isLine = String(path).endsWith(".jsonl");
      if (!failing.has("appendFile") && !(isLine && failing.has("appendLine")))
        return append.call(file, isLine ? text + foreign : text);
      await append.call(file, text.slice(0, text.length / 2));
      throw full();
    },
    truncate: (size: number) =>
      failing.has("truncate") ? Promise.reject(full()) : truncate.call(file, size),
    sync: () => (failing.has("sync") ? Promise.reject(full()) : sync.call(file)),
  });
});

const entry = (n: number) =>
  ({ at: n, actor: "lead", action: "tool", target: `t${n}`, outcome: "ok" }) as const;

let folder: string;
let path: string;
beforeEach(async () => {
  failing.clear();
  foreign = "";
  folder = await realpath(await mkdtemp(join(tmpdir(), "ravi-audit-")));
  path = join(folder, "audit.jsonl");
});
afterEach(() => rm(folder, { recursive: true }));

describe("J11: an audit log on a disk that is full for a while", () => {
  test.each([
    ["before there was a line", ["appendFile"]],
    ["before there was a line, and nothing could be taken back", ["appendFile", "truncate"]],
    ["and the half line was taken back", ["appendLine"]],
    ["and not even the half line could be taken back", ["appendLine", "truncate"]],
  ] as const)("takes entries again once there is room: the write failed %s", async (_how, calls) => {
    const log = await FileAuditLog.open(path);
    await log.append(entry(1));
    for (const call of calls) failing.add(call);
    for (const n of [2, 3]) {
      const refused = log.append(entry(n));
      await expect(refused).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: false });
      await expect(refused).rejects.toThrow(/audit\.jsonl.*ENOSPC.*try again/);
    }
    const torn = failing.has("appendLine") && failing.has("truncate");
    expect(await log.verify()).toMatchObject({ ok: true, entries: 1, torn });
    failing.clear();
    await Promise.all([log.append(entry(4)), log.append(entry(5))]);
    expect(await log.verify()).toMatchObject({ ok: true, entries: 3, torn: false });
    const lines = (await readFile(path, "utf8")).trim().split("\n");
    const targets = lines.map((line) => (JSON.parse(line) as { entry: { target: string } }).entry.target);
    expect(targets).toEqual(["t1", "t4", "t5"]);
    expect(await readdir(folder)).toEqual(["audit.jsonl"]);
  });

  test("takes nothing more where a whole line stands there that may not be on the disk", async () => {
    const log = await FileAuditLog.open(path);
    await log.append(entry(1));
    failing.add("sync");
    await expect(log.append(entry(2))).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    failing.clear();
    const refused = log.append(entry(3));
    await expect(refused).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: true });
    await expect(refused).rejects.toThrow(/not confirmed.*; fix the cause and open the log again$/);
    await (await FileAuditLog.open(path)).append(entry(3));
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 3 });
  });

  test("takes nothing more where a program that knows no claims has written beside it", async () => {
    const log = await FileAuditLog.open(path);
    await log.append(entry(1));
    foreign = "not ours\n";
    await expect(log.append(entry(2))).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    foreign = "";
    await expect(log.append(entry(3))).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: false, line: 3 });
  });

  test("does not cut off what another writer has begun meanwhile", async () => {
    const log = await FileAuditLog.open(path);
    await log.append(entry(1));
    failing.add("appendFile");
    await expect(log.append(entry(2))).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    failing.clear();
    const other = await FileAuditLog.open(path);
    await other.append(entry(7));
    await expect(log.append(entry(3))).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: true });
    await other.append(entry(8));
    expect(await other.verify()).toMatchObject({ ok: true, entries: 3 });
  });

  test("is not continued where it was changed meanwhile", async () => {
    const log = await FileAuditLog.open(path);
    await log.append(entry(1));
    failing.add("appendFile");
    await expect(log.append(entry(2))).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    failing.clear();
    await writeFile(path, (await readFile(path, "utf8")).replace('"t1"', '"t10"'));
    await expect(log.append(entry(3))).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    await expect(FileAuditLog.open(path)).rejects.toThrow(`the audit log ${path} is damaged at 1: line 1`);
  });
});

test("J11: claims of the dead to places that were passed are removed when the log is opened, and no others", async () => {
  const log = await FileAuditLog.open(path);
  await log.append(entry(1));
  const size = Buffer.byteLength(await readFile(path, "utf8"));
  const owner = (pid: number, start: number) => localProcesses().me.replace(/\d+:\d+$/, `${pid}:${start}\nx`);
  // No process has a number so high.
  const dead = owner(4_194_305, 1);
  await writeFile(`${path}.0.0.claim`, dead);
  await writeFile(`${path}.10.1.claim`, dead);
  const stay = {
    [`audit.jsonl.${size}.0.claim`]: dead,
    "audit.jsonl.0.1.claim": owner(process.ppid, 0),
    "audit.jsonl.0.2.claim": "process:elsewhere:t:1:0\nx",
    "audit.jsonl.1.0.claim.txt": dead,
    "other.jsonl.0.0.claim": dead,
  };
  for (const [name, text] of Object.entries(stay)) await writeFile(join(folder, name), text);
  await appendFile(path, '{"seq":2');
  // The half line is cut off under a claim that follows the dead one at that place, and takes it along.
  await FileAuditLog.open(path);
  const { [`audit.jsonl.${size}.0.claim`]: _taken, ...left } = stay;
  expect((await readdir(folder)).toSorted()).toEqual(["audit.jsonl", ...Object.keys(left)].toSorted());
});

test("J11: a claim to the place where the next line goes stays, also of the dead: another process may be taking it over", async () => {
  const log = await FileAuditLog.open(path);
  await log.append(entry(1));
  const size = Buffer.byteLength(await readFile(path, "utf8"));
  const dead = localProcesses().me.replace(/\d+:\d+$/, "4194305:1\nx");
  await writeFile(`${path}.${size}.0.claim`, dead);
  await writeFile(`${path}.${size - 1}.0.claim`, dead);
  const again = await FileAuditLog.open(path);
  expect((await readdir(folder)).toSorted()).toEqual(["audit.jsonl", `audit.jsonl.${size}.0.claim`]);
  await again.append(entry(2));
  expect(await readdir(folder)).toEqual(["audit.jsonl"]);
});
