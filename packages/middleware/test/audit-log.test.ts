import { execFile, fork, type ForkOptions, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import files, {
  appendFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  truncate,
  writeFile,
} from "node:fs/promises";
import os, { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { AuditEntry } from "@ravi/kernel";
import { FileAuditLog } from "@ravi/middleware";
import { PATIENCE } from "./support.ts";
import { ChainReader, type ChainReport } from "../src/audit-log/chain.ts";
import { localProcesses } from "../src/audit-log/file/owner.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 200;

const entry = (n: number): AuditEntry => ({
  at: n,
  actor: "lead",
  action: "tool",
  target: `tool-${n}`,
  outcome: "ok",
  details: { n, text: "ü" },
});

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "ravi-audit-")));
  path = join(folder, "audit.jsonl");
});
afterEach(() => rm(folder, { recursive: true }));

async function written(count: number): Promise<string> {
  const log = await FileAuditLog.open(path);
  await Promise.all(Array.from({ length: count }, (_, n) => log.append(entry(n + 1))));
  return readFile(path, "utf8");
}

function verifyChain(text: string): ChainReport {
  const reader = new ChainReader(undefined);
  reader.push(text);
  return reader.report();
}

/** Another process with the log open, which appends so many entries when it is told to go, and says how each went. */
async function startWriter(name: string, times: number, options: ForkOptions = {}) {
  const child = fork(join(import.meta.dirname, "audit-writer.ts"), [path, name, String(times)], {
    execArgv: ["--conditions=@ravi/source"],
    ...options,
  });
  await once(child, "message");
  return {
    pid: child.pid,
    async go(): Promise<string[]> {
      child.send("go");
      const [[ends]] = await Promise.all([once(child, "message"), once(child, "exit")]);
      return ends as string[];
    },
  };
}

describe("J11: an audit that can be proved", () => {
  test("entries at once come in the order asked, each chained to the one before", async () => {
    const text = await written(5);
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { seq: number; prev: string; hash: string; entry: AuditEntry });
    expect(lines.map((line) => line.entry)).toEqual([1, 2, 3, 4, 5].map(entry));
    expect(lines.slice(1).map(({ prev }) => prev)).toEqual(lines.slice(0, -1).map(({ hash }) => hash));
    expect(await FileAuditLog.verify(path)).toMatchObject({
      ok: true,
      entries: 5,
      head: lines[4]?.hash,
      torn: false,
    });
  });

  test("T12: only its owner may read it", async () => {
    const log = await FileAuditLog.open(path);
    await log.append(entry(1));
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test("it is continued where it ended", async () => {
    await written(2);
    const log = await FileAuditLog.open(path);
    await log.append(entry(3));
    expect(await log.verify()).toMatchObject({ ok: true, entries: 3 });
  });

  test("every change of one character, every line that is missing, doubled or moved is found", async () => {
    const text = await written(6);
    const lines = text.split("\n").slice(0, -1);
    fc.assert(
      fc.property(fc.nat(text.length - 2), fc.constantFrom("x", "0", "}", '"'), (at, char) => {
        fc.pre(text[at] !== char && text[at] !== "\n");
        expect(verifyChain(text.slice(0, at) + char + text.slice(at + 1)).ok).toBe(false);
      }),
      { numRuns: RUNS },
    );
    for (const [at, line] of lines.entries()) {
      const without = lines.filter((_, other) => other !== at);
      // A last line that is gone leaves a whole log: that its head is another one shows it.
      if (at < lines.length - 1)
        expect(verifyChain(`${without.join("\n")}\n`)).toMatchObject({ ok: false, line: at + 1 });
      else
        expect(verifyChain(`${without.join("\n")}\n`)).not.toMatchObject({
          head: (JSON.parse(line) as { hash: string }).hash,
        });
      expect(verifyChain(`${[...lines.slice(0, at), line, ...lines.slice(at)].join("\n")}\n`).ok).toBe(false);
    }
  });

  test("a log that was changed is not continued, and the line is named", async () => {
    const text = await written(3);
    await writeFile(path, text.replace("tool-2", "tool-9"));
    await expect(FileAuditLog.open(path)).rejects.toThrow("line 2 was changed after it was written");
    expect(await FileAuditLog.verify(path)).toEqual({
      ok: false,
      line: 2,
      problem: "was changed after it was written",
    });
  });

  test("the half line that a crash leaves was confirmed to nobody, and is cut off", async () => {
    await written(2);
    await appendFile(path, '{"seq":3,"prev":"ü');
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2, torn: true });
    const log = await FileAuditLog.open(path);
    await log.append(entry(3));
    expect(await log.verify()).toMatchObject({ ok: true, entries: 3, torn: false });
  });

  test("what a reader of JSON would pass over is found: fields twice, or more of them, or other blanks", async () => {
    const text = await written(2);
    const forged = '"entry":{"actor":"nobody"},';
    expect(verifyChain(text.replace('"entry":', `${forged}"entry":`)).ok).toBe(false);
    expect(verifyChain(text.replace("}\n", ',"note":"approved"}\n'))).toMatchObject({ ok: false, line: 1 });
    expect(verifyChain(text.replace('"seq":2', '"seq": 2'))).toMatchObject({ ok: false, line: 2 });
  });

  test("lines that are gone at the end are found by whoever writes, and by whoever has kept a head", async () => {
    const log = await FileAuditLog.open(path);
    for (const n of [1, 2, 3]) await log.append(entry(n));
    const whole = await readFile(path, "utf8");
    const [first = "", second = ""] = whole.split("\n");
    const { head } = (await log.verify()) as { head: string };
    await writeFile(path, `${first}\n${second}\n`);
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2 });
    expect(await log.verify()).toMatchObject({ ok: false, line: 3 });
    expect(await FileAuditLog.verify(path, { head })).toMatchObject({ ok: false, line: 3 });
    await expect(FileAuditLog.open(path, { head })).rejects.toThrow(
      "no line of the file has the expected head hash",
    );
    await writeFile(path, whole);
    const again = await FileAuditLog.open(path, { head });
    await again.append(entry(4));
    // One that goes on from the head that was kept is the same log.
    expect(await FileAuditLog.verify(path, { head })).toMatchObject({ ok: true, entries: 4 });
  });

  test("a log that was moved, removed or cut while it was open is said to be so, and not begun anew", async () => {
    for (const take of [
      () => rename(path, `${path}.1`),
      () => rm(path),
      () => truncate(path, 10),
      () => writeFile(path, ""),
    ]) {
      await rm(path, { force: true });
      const log = await FileAuditLog.open(path);
      await log.append(entry(1));
      await take();
      const left = await readFile(path, "utf8").catch(() => "none");
      for (const n of [2, 3]) {
        const refused = log.append(entry(n));
        await expect(refused).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: true });
        await expect(refused).rejects.toThrow(
          /audit\.jsonl was moved, removed or cut since it was opened: \d/,
        );
        await expect(refused).rejects.toThrow("until the log is opened again");
      }
      expect(await readFile(path, "utf8").catch(() => "none")).toBe(left);
    }
  });

  test("a head that was kept before the first entry stays good", async () => {
    const log = await FileAuditLog.open(path);
    const empty = await log.verify();
    expect(empty).toMatchObject({ ok: true, entries: 0 });
    const { head } = empty as { head: string };
    await log.append(entry(1));
    expect(await FileAuditLog.verify(path, { head })).toMatchObject({ ok: true, entries: 1 });
    const again = await FileAuditLog.open(path, { head });
    await again.append(entry(2));
    expect(await again.verify()).toMatchObject({ ok: true, entries: 2 });
  });

  test("two writers: who was overtaken writes nothing more, and the log stays whole", async () => {
    const [one, two] = [await FileAuditLog.open(path), await FileAuditLog.open(path)];
    await one.append(entry(1));
    await expect(two.append(entry(1))).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    await expect(two.append(entry(1))).rejects.toThrow(`the audit log ${path} is claimed by another writer`);
    // The other may end: this writer stays where it was, and whoever waits for that waits in vain.
    await expect(two.append(entry(1))).rejects.toThrow(
      "nothing more is written here until the log is opened again; give each process a file of its own",
    );
    await one.append(entry(2));
    await expect(two.append(entry(2))).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    expect(await one.verify()).toMatchObject({ ok: true, entries: 2 });
  });

  test("of two who write at the same moment at most one is told that it was written", async () => {
    for (let n = 0; n < 20; n++) {
      await rm(path, { force: true });
      const logs = [await FileAuditLog.open(path), await FileAuditLog.open(path)];
      const ends = await Promise.allSettled(logs.map((log) => log.append(entry(1))));
      const confirmed = ends.filter(({ status }) => status === "fulfilled").length;
      expect(confirmed).toBeLessThanOrEqual(1);
    }
  });

  test("J11: of handles in one process that write at the same moment one wins, and the others write nothing", async () => {
    for (let n = 0; n < 20; n++) {
      await rm(path, { force: true });
      const logs = await Promise.all(Array.from({ length: 4 }, () => FileAuditLog.open(path)));
      const ends = await Promise.allSettled(logs.map((log) => log.append(entry(1))));
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const end of ends)
        if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "JOURNAL_LOCKED" });
      expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 1, torn: false });
      const winner = logs[ends.findIndex(({ status }) => status === "fulfilled")];
      await winner?.append(entry(2));
      expect(await winner?.verify()).toMatchObject({ ok: true, entries: 2 });
    }
    expect(await readdir(folder)).toEqual(["audit.jsonl"]);
  });

  test("J11: a log that has two names is one log", async () => {
    await mkdir(join(folder, "other"));
    const other = join(folder, "other", "link.jsonl");
    await written(1);
    await symlink(path, other);
    const logs = [await FileAuditLog.open(path), await FileAuditLog.open(other)];
    const ends = await Promise.allSettled(logs.map((log) => log.append(entry(2))));
    expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2 });
  });

  test(
    "J11: of processes that write at the same moment one wins, and the log stays whole",
    PATIENCE,
    async () => {
      const writers = await Promise.all(["one", "two", "three"].map((name) => startWriter(name, 20)));
      const ends = await Promise.all(writers.map((writer) => writer.go()));
      // Who was refused once writes nothing more.
      const whole = ends.map((list) => [...new Set(list)].join(" then ")).toSorted();
      expect(whole).toEqual(["JOURNAL_LOCKED", "JOURNAL_LOCKED", "written"]);
      expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 20, torn: false });
      expect(await readdir(folder)).toEqual(["audit.jsonl"]);
    },
  );

  test(
    "J11: the claim of a process that died is taken over, by one only; that of a living one is not",
    PATIENCE,
    async () => {
      await written(1);
      const { size } = await stat(path);
      const dead = await startWriter("dead", 0);
      const pid = dead.pid;
      await dead.go();
      const here = localProcesses().me.split(":").slice(1, 3).join(":");
      await writeFile(`${path}.${size}.0.claim`, `process:${here}:${pid}:0\nx`);
      // The same number as ours, and yet not of this process, as Linux can tell: numbers are used again.
      const number = process.platform === "linux" ? process.pid : pid;
      await writeFile(`${path}.${size}.1.claim`, `process:${here}:${number}:1\nx`);
      // What a crash left before anything stood in it.
      await writeFile(`${path}.${size}.2.claim`, "");
      await utimes(`${path}.${size}.2.claim`, 1, 1);
      const logs = await Promise.all(Array.from({ length: 4 }, () => FileAuditLog.open(path)));
      const ends = await Promise.allSettled(logs.map((log) => log.append(entry(2))));
      expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2 });
      expect(await readdir(folder)).toEqual(["audit.jsonl"]);

      const next = (await stat(path)).size;
      for (const owner of [`process:${here}:${process.ppid}:0\nx`, `process:elsewhere:t:${pid}:0\nx`, ""]) {
        await writeFile(`${path}.${next}.0.claim`, owner);
        const log = await FileAuditLog.open(path);
        await expect(log.append(entry(3))).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
        await expect(log.append(entry(3))).rejects.toThrow(`${path}.${next}.0.claim`);
      }
      expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2 });
    },
  );

  test.each([
    ["zeros", "\0".repeat(60)],
    ["half of a name", "process:some-host:12"],
    ["a name without its end", "process:some-host:12:34"],
  ])("J11: a claim of which a power failure left %s holds nobody up", async (_, left) => {
    await written(1);
    const { size } = await stat(path);
    // It was in the way of cutting off the half line, so the log could not even be opened.
    await appendFile(path, '{"seq":2');
    const claim = `${path}.${size}.0.claim`;
    await writeFile(claim, left);
    await expect(FileAuditLog.open(path)).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    const before = Date.now() / 1_000 - 20;
    await utimes(claim, before, before);
    await writeFile(`${path}.0.0.claim`, left);
    await utimes(`${path}.0.0.claim`, before, before);
    await (await FileAuditLog.open(path)).append(entry(2));
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2, torn: false });
    expect(await readdir(folder)).toEqual(["audit.jsonl"]);
  });

  test.each([
    ["on another machine", "process:elsewhere:table:7:100\nx"],
    ["in another container", `process:${encodeURIComponent(hostname())}:table:7:100\nx`],
  ])("J11: a claim of a process %s is respected for a minute, and then taken over", async (_, owner) => {
    await written(1);
    const { size } = await stat(path);
    const claim = `${path}.${size}.0.claim`;
    await writeFile(claim, owner);
    const append = async () => (await FileAuditLog.open(path)).append(entry(2));
    const seconds = Date.now() / 1_000;
    await utimes(claim, seconds - 50, seconds - 50);
    await expect(append()).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    await utimes(claim, seconds - 61, seconds - 61);
    await append();
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2, torn: false });
    expect(await readdir(folder)).toEqual(["audit.jsonl"]);
  });

  test("J11: where the machine has no name, of no process it can be told whether it has ended", async () => {
    onTestFinished(() => void vi.restoreAllMocks());
    vi.spyOn(os, "hostname").mockImplementation(() => {
      throw new Error("Requires sys access to hostname");
    });
    vi.resetModules();
    // What is loaded now must not stay: the files of one worker share their modules.
    onTestFinished(() => void vi.resetModules());
    const { localProcesses: anew } = await import("../src/audit-log/file/owner.ts");
    expect(anew().canTell(anew().me)).toBe(false);
  });

  const APART = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
  // Only Linux has containers, and not every machine lets its users make them.
  test.runIf(spawnSync("unshare", [...APART, "true"]).status === 0)(
    "J11: of a process in a container with this one's host name nobody here can tell whether it has ended",
    () => {
      const program =
        'import { localProcesses } from "./src/audit-log/file/owner.ts"; console.log(localProcesses().me);';
      const args = ["--conditions=@ravi/source", "--input-type=module", "--eval", program];
      const cwd = join(import.meta.dirname, "..");
      const { stdout } = spawnSync("unshare", [...APART, process.execPath, ...args], { cwd });
      const owner = stdout.toString().trim();
      expect(owner).toMatch(/^process:.*:\d+:\d+$/);
      expect(localProcesses().isGone(owner)).toBe(false);
      const { stdout: own } = spawnSync(process.execPath, args, { cwd });
      expect(localProcesses().isGone(own.toString().trim())).toBe(true);
    },
  );

  test("J11: a half line that a living process is writing at this moment is not cut off", async () => {
    await written(1);
    const { size } = await stat(path);
    await appendFile(path, '{"seq":2');
    const claim = `${path}.${size}.0.claim`;
    await writeFile(claim, localProcesses().me.replace(/\d+:\d+$/, `${process.ppid}:0\nx`));
    await expect(FileAuditLog.open(path)).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    await expect(FileAuditLog.open(path)).rejects.toThrow(`the audit log ${path} is claimed by process`);
    expect(await readFile(path, "utf8")).toMatch(/\n\{"seq":2$/);
    await rm(claim);
    await (await FileAuditLog.open(path)).append(entry(2));
    expect(await FileAuditLog.verify(path)).toMatchObject({ ok: true, entries: 2, torn: false });
    expect(await readdir(folder)).toEqual(["audit.jsonl"]);
  });

  test("J11: nor is one that its writer has finished meanwhile", async () => {
    const whole = await written(2);
    await writeFile(path, whole.slice(0, -9));
    // The log was read up to the half line by now, and its place is not claimed yet.
    const finishing = vi.spyOn(files, "realpath").mockImplementationOnce(async (name) => {
      await appendFile(path, whole.slice(-9));
      return realpath(String(name));
    });
    onTestFinished(() => finishing.mockRestore());
    await expect(FileAuditLog.open(path)).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    expect(await readFile(path, "utf8")).toBe(whole);
    expect(await readdir(folder)).toEqual(["audit.jsonl"]);
    expect(await (await FileAuditLog.open(path)).verify()).toMatchObject({ ok: true, entries: 2 });
  });

  test("a log cut off at any byte, as by a crash, keeps every whole line and goes on", async () => {
    const text = Buffer.from(await written(3));
    for (let length = 0; length <= text.length; length += 7) {
      await writeFile(path, text.subarray(0, length));
      const lines = text.subarray(0, length).toString().split("\n").length - 1;
      const log = await FileAuditLog.open(path);
      await log.append(entry(9));
      expect(await log.verify()).toMatchObject({ ok: true, entries: lines + 1, torn: false });
    }
  });

  test("J11: what was not written down is an error, and the next entry is chained to the last that was", async () => {
    let fails = false;
    const lines: string[] = [];
    const disk = {
      read: async () => "",
      cutAfter: async () => {},
      append: async (_path: string, line: string) => {
        if (fails) throw new Error("disk full");
        lines.push(line);
      },
    };
    const log = await FileAuditLog.open("anywhere", { disk });
    await log.append(entry(1));
    fails = true;
    await expect(log.append(entry(2))).rejects.toThrow(/anywhere.*disk full.*try again/);
    fails = false;
    await log.append(entry(3));
    expect(verifyChain(lines.join(""))).toMatchObject({ ok: true, entries: 2 });
  });

  test(
    "J11: a disk without room for another byte is a typed error, and the next writer need not wait",
    PATIENCE,
    async () => {
      await written(2);
      const script = 'ulimit -f 0; exec "$0" "$@"';
      const cramped = {
        execPath: "sh",
        execArgv: ["-c", script, process.execPath, "--conditions=@ravi/source"],
      };
      const writer = await startWriter("one", 2, cramped);
      expect(await writer.go()).toEqual(["JOURNAL_FAILED", "JOURNAL_FAILED"]);
      // Not even a claim without a name is left, which would be taken for that of a writer that has just begun.
      expect(await readdir(folder)).toEqual(["audit.jsonl"]);
      const log = await FileAuditLog.open(path);
      await log.append(entry(3));
      expect(await log.verify()).toMatchObject({ ok: true, entries: 3 });
    },
  );

  test(
    "J11: a process that may open no more files takes no living writer for gone, and removes nobody's claim",
    PATIENCE,
    async () => {
      await written(2);
      const { me } = localProcesses();
      const claim = `${path}.${(await stat(path)).size}.0.claim`;
      await writeFile(claim, `${me}\nx`);
      const program = [
        "--conditions=@ravi/source",
        join(import.meta.dirname, "audit-starved.ts"),
        path,
        claim,
      ];
      const command = ["-c", 'ulimit -n 64; exec "$@"', "sh", process.execPath, ...program];
      const { stdout } = await promisify(execFile)("sh", command);
      expect(stdout).toBe("living, refused, stands\n".repeat(6));
    },
  );

  test.runIf(process.platform === "linux")(
    "a writer that has ended and that nobody has buried is gone",
    async () => {
      // The shell becomes a program that knows of no child, and answers when it has.
      const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec cat"]);
      onTestFinished(() => void parent.kill());
      const [said] = await once(parent.stdout, "data");
      const pid = Number(said);
      parent.stdin.write("?");
      await once(parent.stdout, "data");
      const { isGone, me } = localProcesses();
      const began = (await readFile(`/proc/${pid}/stat`, "utf8")).split(" ")[21];
      const owner = me.replace(/\d+:\d+$/, `${pid}:${began}`);
      expect(isGone(owner)).toBe(false);

      process.kill(pid, "SIGKILL");
      await expect.poll(() => readFile(`/proc/${pid}/stat`, "utf8")).toContain(") Z ");
      expect(isGone(owner)).toBe(true);
    },
  );

  test("an entry is written as it was when it was given", async () => {
    const details = { n: 1 };
    const log = await FileAuditLog.open(path);
    const writing = log.append({ ...entry(1), details });
    details.n = 2;
    await writing;
    expect(await readFile(path, "utf8")).toContain('"n":1');
  });

  test("J11: an entry that is no JSON is refused as a rejection, and the log goes on", async () => {
    const log = await FileAuditLog.open(path);
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const details of [{ n: 1n }, cyclic]) {
      // @ts-expect-error neither is JSON
      const writing = log.append({ ...entry(1), details });
      await expect(writing).rejects.toMatchObject({ code: "INVALID_VALUE" });
    }
    // @ts-expect-error nothing is no entry
    await expect(log.append(undefined)).rejects.toMatchObject({ code: "INVALID_VALUE" });
    await log.append(entry(1));
    expect(await log.verify()).toMatchObject({ ok: true, entries: 1 });
  });

  test("J11: a log is read in pieces, cut anywhere, like the whole", async () => {
    const text = await written(4);
    const torn = `${text}{"seq":5,"prev":"ü`;
    for (const [whole, isTorn] of [
      [text, false],
      [torn, true],
      ["", false],
    ] as const) {
      for (let size = 1; size < 200; size += 9) {
        const cuts: number[] = [];
        const disk = {
          async *pieces() {
            for (let at = 0; at < whole.length; at += size) yield whole.slice(at, at + size);
          },
          read: async () => disk.pieces(),
          cutAfter: async (_path: string, bytes: number) => void cuts.push(bytes),
          append: async () => {},
        };
        expect(await FileAuditLog.verify(path, { disk })).toEqual(verifyChain(whole));
        await FileAuditLog.open(path, { disk });
        expect(cuts).toEqual(isTorn ? [Buffer.byteLength(text)] : []);
      }
    }
    const changed = text.replace("tool-3", "tool-9");
    const disk = {
      read: async () => Readable.from([changed.slice(0, 50), changed.slice(50)]),
      cutAfter: async () => {},
      append: async () => {},
    };
    expect(await FileAuditLog.verify(path, { disk })).toMatchObject({ ok: false, line: 3 });
  });

  test("no path is refused", async () => {
    await expect(FileAuditLog.open("")).rejects.toThrow("the path of a file");
  });
});
