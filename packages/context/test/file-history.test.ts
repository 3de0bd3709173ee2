import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { type ChatMessage, ExecId, RunId } from "@ravi/kernel";
import { FileHistory, type HistoryLock } from "@ravi/context";
import { KeptMessages } from "../src/history/file/kept-messages.ts";
import { FakeDisk, type Fault } from "./support/fake-disk.ts";
import { many, say } from "./support/history-suite.ts";
import { HOSTILE_IDS, keyOf } from "./support/keys.ts";
import { runs } from "./support/transcripts.ts";

vi.setConfig({ testTimeout: runs(20_000, 900_000) });

const key = keyOf("s");
const folders: string[] = [];
async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "ravi-files-"));
  folders.push(made);
  return made;
}
afterEach(() => Promise.all(folders.splice(0).map((path) => rm(path, { recursive: true, force: true }))));

async function onlyFile(directory: string): Promise<string> {
  const names = await readdir(directory);
  expect(names).toHaveLength(1);
  return join(directory, names[0] ?? "");
}

/** A disk with three appends: of one, of two and of three messages. */
async function written(): Promise<{ disk: FakeDisk; whole: Buffer; ends: number[] }> {
  const disk = new FakeDisk();
  const history = await FileHistory.open("/h", { files: disk });
  const ends: number[] = [];
  const messages = many(6);
  for (const [from, to] of [
    [0, 1],
    [1, 3],
    [3, 6],
  ]) {
    await history.append(key, messages.slice(from, to));
    ends.push(disk.bytes()?.length ?? 0);
  }
  return { disk, whole: Buffer.from(disk.bytes() ?? []), ends };
}

const reopened = (disk: FakeDisk): Promise<FileHistory> => FileHistory.open("/h", { files: disk });

describe("a message that was read before", () => {
  const objects = async (history: FileHistory): Promise<readonly ChatMessage[]> =>
    (await history.load(key)).messages;

  test("is the same object when it is read again, also by another history of the folder", async () => {
    const directory = await folder();
    const history = await FileHistory.open(directory);
    await history.append(key, many(3));
    const first = await objects(history);
    const other = await FileHistory.open(directory);
    await other.append(key, [say("new")]);
    const second = await objects(other);
    expect(second).toHaveLength(4);
    for (const [at, message] of first.entries()) expect(second[at]).toBe(message);
    expect((await history.load(key, 2)).messages[1]).toBe(first[1]);
    await history.close();
    expect((await objects(other))[3]).toBe(second[3]);
  });

  test("cannot be changed, nor can the list be, for those who read it next", async () => {
    const history = await FileHistory.open(await folder());
    await history.append(key, [{ role: "user", content: [{ type: "text", text: "hello" }] }]);
    const [message] = await objects(history);
    expect(Object.isFrozen(message) && Object.isFrozen(message?.content[0])).toBe(true);
    ((await objects(history)) as ChatMessage[]).length = 0;
    expect(await objects(history)).toHaveLength(1);
  });

  test("is not taken for another one that stands in its place by now", async () => {
    const directory = await folder();
    const history = await FileHistory.open(directory);
    const other = await FileHistory.open(directory);
    await history.append(key, [say("one"), say("two")]);
    await objects(history);
    await other.clear(key);
    await other.append(key, [say("one"), say("2nd")]);
    expect((await objects(history)).map(({ content }) => content)).toEqual(["one", "2nd"]);
    const file = await onlyFile(directory);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace("2nd", "3rd"));
    await expect(objects(history)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  });

  test("is not taken for another one with the same checksum and length", async () => {
    const directory = await folder();
    const history = await FileHistory.open(directory);
    await history.append(key, [say("plumless")]);
    await objects(history);
    const file = await onlyFile(directory);
    await writeFile(file, (await readFile(file, "utf8")).replace("plumless", "buckeroo"));
    expect((await objects(history)).map(({ content }) => content)).toEqual(["buckeroo"]);
  });

  test("is kept until others have pushed it out", () => {
    const kept = new KeptMessages(100);
    const of = (name: string, bytes: number) => {
      const messages = [say(name)];
      kept.keep(name, { messages, texts: [name], file: "1", bytes });
      return messages[0];
    };
    const found = (name: string) => kept.of(name, "1").messages[0];
    const one = of("one", 40);
    const two = of("two", 40);
    expect([found("one"), found("two")]).toEqual([one, two]);
    expect(kept.of("one", "another file").messages).toEqual([]);
    of("one", 50);
    of("three", 30);
    expect(found("two")).toBeUndefined();
    expect([found("one"), found("three")]).not.toContain(undefined);
    of("large", 101);
    expect(found("large")).toBeUndefined();
    expect([found("one"), found("three")]).not.toContain(undefined);
    kept.forget("one");
    of("four", 70);
    expect([found("three"), found("four")]).not.toContain(undefined);
  });
});

describe("T12: ids and paths", () => {
  test("T12: hostile ids make files in the folder and nowhere else, and no two share one", async () => {
    const outer = await folder();
    const directory = join(outer, "deep", "history");
    const history = await FileHistory.open(directory, { sync: false });
    for (const id of HOSTILE_IDS) await history.append(keyOf(id), [say(id)]);
    expect(await readdir(outer, { recursive: true })).toHaveLength(HOSTILE_IDS.length + 2);
    const names = await readdir(directory);
    expect(new Set(names.map((name) => name.normalize("NFKC").toLowerCase())).size).toBe(HOSTILE_IDS.length);
    for (const name of names) expect(name).toMatch(/^h-[a-z0-9_]{0,24}-lead-[0-9a-f]{64}\.jsonl$/);
  });

  test("T12: nothing outside the folder is ever opened", async () => {
    const disk = new FakeDisk();
    const history = await FileHistory.open("/some/where", { files: disk });
    for (const id of HOSTILE_IDS) {
      await history.append(keyOf(id, id, id), [say("x")]);
      await history.load(keyOf("s", id));
      await history.clear(keyOf(id, id, id));
    }
    expect(new Set(disk.opened.map((path) => (path.endsWith(".jsonl") ? dirname(path) : path)))).toEqual(
      new Set(["/some/where"]),
    );
  });

  test("T12: a link in the folder is not followed", async () => {
    const directory = await folder();
    const history = await FileHistory.open(directory);
    await history.append(key, many(1));
    const path = await onlyFile(directory);
    const outside = join(await folder(), "outside.txt");
    await writeFile(outside, "untouched");
    await rm(path);
    await symlink(outside, path);
    await expect(history.append(key, many(1))).rejects.toMatchObject({ cause: { code: "ELOOP" } });
    await expect(history.load(key)).rejects.toMatchObject({ cause: { code: "ELOOP" } });
    expect(await readFile(outside, "utf8")).toBe("untouched");
    await history.clear(key);
    expect(await readFile(outside, "utf8")).toBe("untouched");
  });

  test("T12: files are 0600 and folders 0700", async () => {
    const directory = join(await folder(), "a", "b");
    const history = await FileHistory.open(directory);
    await history.append(key, many(1));
    const modes = await Promise.all(
      [dirname(directory), directory, await onlyFile(directory)].map(
        async (path) => (await stat(path)).mode & 0o777,
      ),
    );
    expect(modes).toEqual([0o700, 0o700, 0o600]);
  });

  test("T12: a folder that cannot be one is refused, in words", async () => {
    const file = join(await folder(), "file");
    await writeFile(file, "");
    await expect(FileHistory.open(file)).rejects.toMatchObject({
      code: "INVALID_VALUE",
      field: "directory",
      message: expect.stringContaining("can be created or opened (EEXIST: "),
    });
    await expect(FileHistory.open("")).rejects.toMatchObject({ field: "directory" });
    if (process.platform === "linux")
      await expect(FileHistory.open("/proc/ravi/h")).rejects.toMatchObject({ field: "directory" });
    await expect(FileHistory.open("/x", { snyc: true } as never)).rejects.toMatchObject({
      field: "FileHistory options.snyc",
    });
  });
});

test("T5: where a folder of locks cannot be read, no lock is left behind that would keep the next append waiting", async () => {
  const directory = await folder();
  const history = await FileHistory.open(directory);
  const disk = process.getBuiltinModule("node:fs/promises");
  const failing = vi.spyOn(disk, "readdir").mockRejectedValueOnce(new Error("EIO: i/o error"));
  onTestFinished(() => failing.mockRestore());
  await expect(history.append(key, [say("a")])).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  expect(failing).toHaveBeenCalledOnce();
  expect((await readdir(directory)).filter((name) => name.endsWith(".lock"))).toEqual([]);
  await history.append(key, [say("b")]);
  expect((await history.load(key)).messages).toEqual([say("b")]);
});

describe("T5: what a crash leaves", () => {
  test("T5: cut at every byte, whole appends are read, and the next append is readable", async () => {
    const { disk, whole, ends } = await written();
    const counts = [1, 3, 6];
    for (let size = 0; size < whole.length; size++) {
      disk.overwrite(whole.subarray(0, size));
      const head = counts[ends.findLastIndex((end) => end <= size)] ?? 0;
      const history = await reopened(disk);
      expect(await history.load(key)).toEqual({ messages: many(head), head });
      await history.append(key, [say("next")]);
      expect((await history.load(key)).messages).toEqual([...many(head), say("next")]);
      expect((await (await reopened(disk)).load(key)).head).toBe(head + 1);
    }
  });

  test("T5: loading never writes: what looks torn may be another process at work", async () => {
    const { disk, whole } = await written();
    disk.overwrite(whole.subarray(0, whole.length - 4));
    await (await reopened(disk)).load(key);
    expect(disk.bytes()).toHaveLength(whole.length - 4);
  });

  test("T5: every flipped bit is an error that says where, and nothing is written after it", async () => {
    const { disk, whole } = await written();
    for (let at = 0; at < whole.length; at++) {
      const flipped = Buffer.from(whole);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << (at % 8));
      disk.overwrite(flipped);
      const history = await reopened(disk);
      const failure: unknown = await history.load(key).catch((error: unknown) => error);
      expect(failure, `byte ${at}`).toMatchObject({
        code: expect.stringMatching(/JOURNAL_CORRUPT|INVALID_VALUE/),
      });
      if (failure instanceof Error && "position" in failure) expect(failure.position).toBeLessThanOrEqual(at);
      await expect(history.append(key, [say("next")])).rejects.toEqual(failure);
      expect(disk.bytes()?.equals(flipped)).toBe(true);
    }
  });

  test("T5: lines that are missing, doubled, swapped or from elsewhere are an error with the offset", async () => {
    const { disk, whole } = await written();
    const [header = "", ...lines] = whole.toString().trimEnd().split("\n");
    const elsewhere = new FakeDisk();
    await (await reopened(elsewhere)).append(keyOf("other"), many(1));
    const foreign = elsewhere.bytes()?.toString().split("\n")[1] ?? "";
    const [a = "", b = "", c = "", ...rest] = lines;
    for (const broken of [
      [b, c, ...rest],
      [a, c, ...rest],
      [a, a, b, c, ...rest],
      [a, c, b, ...rest],
      [foreign, b, c, ...rest],
      [a, "", b, c, ...rest],
    ]) {
      disk.overwrite(Buffer.from(`${[header, ...broken].join("\n")}\n`));
      await expect((await reopened(disk)).load(key)).rejects.toMatchObject({
        code: "JOURNAL_CORRUPT",
        runId: "s",
        position: expect.any(Number),
        message: expect.stringMatching(/^the history of session s is damaged at \d+: /),
      });
    }
  });

  test("T5: the error's position is the byte where the line begins", async () => {
    const { disk, whole, ends } = await written();
    const flipped = Buffer.from(whole);
    const at = (ends[0] ?? 0) + 40;
    flipped[at] = (flipped[at] ?? 0) ^ 1;
    disk.overwrite(flipped);
    await expect((await reopened(disk)).load(key)).rejects.toMatchObject({ position: ends[0] });
  });

  test("T5: zeros in the last append are what a power cut left, in one that another follows they are damage", async () => {
    const { disk, whole, ends } = await written();
    const holed = (append: number): Buffer => {
      const start = ends[append - 1] ?? 0;
      return Buffer.from(whole).fill(0, start + 50, start + 60);
    };
    disk.overwrite(holed(2));
    expect((await (await reopened(disk)).load(key)).head).toBe(3);
    disk.overwrite(holed(1));
    const history = await reopened(disk);
    const damage = { code: "JOURNAL_CORRUPT", position: ends[0] };
    await expect(history.load(key)).rejects.toMatchObject(damage);
    await expect(history.append(key, [say("next")])).rejects.toMatchObject(damage);
    expect(disk.bytes()?.equals(holed(1))).toBe(true);
  });

  test.each([0, 2])("T5: another format (%i) is refused and left untouched", async (format) => {
    const { disk, whole } = await written();
    const other = Buffer.from(whole.toString().replace('"v":1', `"v":${format}`));
    disk.overwrite(other);
    const history = await reopened(disk);
    await expect(history.load(key)).rejects.toMatchObject({ code: "INVALID_VALUE", value: `${format}` });
    await expect(history.append(key, many(1))).rejects.toThrow(
      `the format of the history of session ${key.sessionId} is ${format}; expected format 1; the file was written by another version of @ravi/context`,
    );
    expect(disk.bytes()?.equals(other)).toBe(true);
  });

  test("T1: after a power cut, all that was acknowledged is there, and nothing is there by half", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 8 }),
        fc.integer({ min: 1, max: 60 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
        fc.constantFrom(2, 16, 64),
        async (appends, cutAt, sectors, sector) => {
          const disk = new FakeDisk();
          const history = await reopened(disk);
          disk.failAt(cutAt, "EIO");
          const messages: ChatMessage[] = [];
          let acknowledged = 0;
          let asked = 0;
          for (const [n, count] of appends.entries()) {
            const batch = Array.from({ length: count }, (_, at) => say(`${n}.${at} ${"x".repeat(30)}`));
            asked = messages.push(...batch);
            const went = await history.append(key, batch).then(
              () => true,
              () => false,
            );
            if (!went) break;
            acknowledged = asked;
          }
          disk.powerOut((offset) => sectors[Math.floor(offset / sector) % sectors.length] ?? false);
          const after = await reopened(disk);
          const { messages: found, head } = await after.load(key);
          expect(found).toEqual(messages.slice(0, head));
          expect([acknowledged, asked]).toContain(head);
          await after.append(key, [say("on we go")]);
          expect((await after.load(key)).head).toBe(head + 1);
        },
      ),
      { numRuns: runs(300, 50_000) },
    );
  });

  test("T1: a power cut in the first append that left its end and not its beginning is an empty history, not a damaged one", async () => {
    const whole = (await written()).whole;
    const [header = "", one = "", two = ""] = whole.toString().split("\n");
    const start = Buffer.alloc(header.length + 20);
    const disk = new FakeDisk();
    const history = await reopened(disk);
    await history.append(key, many(1));
    disk.overwrite(Buffer.concat([start, Buffer.from(`${one.slice(20)}\n`)]));
    expect(await (await reopened(disk)).load(key)).toEqual({ messages: [], head: 0 });
    // Where a second append stands behind it, the first was acknowledged, and something has happened to it since.
    disk.overwrite(Buffer.concat([start, Buffer.from(`${one.slice(20)}\n${two}\n`)]));
    await expect((await reopened(disk)).load(key)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
    disk.overwrite(Buffer.concat([start, Buffer.from(`${one.slice(20)}\n`)]));
    const after = await reopened(disk);
    await after.append(key, [say("on we go")]);
    expect((await after.load(key)).messages).toEqual([say("on we go")]);
  });

  test("T1: without sync the same power cut loses what was acknowledged (the disk above is honest)", async () => {
    const disk = new FakeDisk();
    const history = await FileHistory.open("/h", { files: disk, sync: false });
    await history.append(key, many(3));
    disk.powerOut();
    expect((await (await reopened(disk)).load(key)).head).toBe(0);
  });

  test.each<Fault>(["EIO", "ENOSPC", "EFBIG", "short write"])(
    "T5: %s at any operation: an append is whole or not there, and the next one works",
    async (kind) => {
      for (let nth = 1; nth <= 14; nth++) {
        const disk = new FakeDisk();
        const history = await reopened(disk);
        await history.append(key, many(2));
        disk.failAt(nth, kind);
        const head = [2];
        for (const batch of [[say("2"), say("3")], [say("4")]]) {
          const went = await history.append(key, batch).then(
            () => true,
            () => false,
          );
          const { head: now, messages } = await history.load(key).catch(() => history.load(key));
          expect(now).toBe((head.at(-1) ?? 0) + (went ? batch.length : 0));
          expect(messages.slice(0, 2)).toEqual(many(2));
          head.push(now);
        }
        disk.heal();
        await history.append(key, [say("last")]);
        expect((await (await reopened(disk)).load(key)).messages.at(-1)).toEqual(say("last"));
      }
    },
  );
});

describe("FileHistory at work", () => {
  test("R7: a cleared history's file is gone", async () => {
    const directory = await folder();
    const history = await FileHistory.open(directory);
    await history.append(keyOf("s", "lead", "run/1"), many(2));
    await history.clear(keyOf("s", "lead", "run/1"));
    expect(await readdir(directory)).toEqual([]);
  });

  test("R10: what another process wrote in between is seen, and numbers go on from there", async () => {
    const directory = await folder();
    const [one, two] = [await FileHistory.open(directory), await FileHistory.open(directory)];
    for (let n = 0; n < 6; n++) await (n % 2 === 0 ? one : two).append(key, [say(`${n}`)]);
    expect((await one.load(key)).messages).toEqual(many(6));
  });

  test("R10: a history that another has cleared and begun anew is read again, though its size is the same", async () => {
    const directory = await folder();
    const [one, other] = [await FileHistory.open(directory), await FileHistory.open(directory)];
    await one.append(key, many(2));
    const { size } = await stat(await onlyFile(directory));
    await other.clear(key);
    await other.append(key, [say("")]);
    const less = size - (await stat(await onlyFile(directory))).size;
    await other.clear(key);
    await other.append(key, [say("x".repeat(less))]);
    expect((await stat(await onlyFile(directory))).size).toBe(size);

    await one.append(key, [say("after")]);
    expect((await one.load(key)).messages).toEqual([say("x".repeat(less)), say("after")]);
  });

  test("T5: what looks damaged is read once more with the lock, as it may have been cut off and written anew meanwhile", async () => {
    const { disk, whole } = await written();
    const seen = Buffer.from(whole).fill("?", whole.length - 20, whole.length - 10);
    const log: string[] = [];
    const release = async (): Promise<void> => void log.push("release");
    const lock = async (): Promise<HistoryLock> => {
      log.push("lock");
      disk.overwrite(whole);
      return { release };
    };
    disk.overwrite(seen);
    const files = {
      open: disk.open.bind(disk),
      mkdir: disk.mkdir.bind(disk),
      unlink: disk.unlink.bind(disk),
    };
    const history = await FileHistory.open("/h", { files: { ...files, lock } });
    expect((await history.load(key)).head).toBe(6);
    expect((await history.load(key)).head).toBe(6);
    expect(log).toEqual(["lock", "release"]);

    disk.overwrite(seen);
    const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error("EROFS"), { code: "EROFS" }));
    const readOnly = await FileHistory.open("/h", { files: { ...files, lock: refuse } });
    await expect(readOnly.load(key)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT" });
  });

  test("R7: a history can be cleared where there is no room for a lock", async () => {
    const { disk } = await written();
    const lock = (): Promise<never> => Promise.reject(Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }));
    const files = {
      open: disk.open.bind(disk),
      mkdir: disk.mkdir.bind(disk),
      unlink: disk.unlink.bind(disk),
    };
    const history = await FileHistory.open("/h", { files: { ...files, lock } });
    await expect(history.append(key, [say("more")])).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    await history.clear(key);
    expect((await history.load(key)).head).toBe(0);
  });

  test("T5: to clear what was never stored takes no lock, which a process that is killed would leave behind", async () => {
    const { disk } = await written();
    const locked: string[] = [];
    const lock = async (path: string): Promise<HistoryLock> => {
      locked.push(path);
      return { release: async () => {} };
    };
    const files = {
      open: disk.open.bind(disk),
      mkdir: disk.mkdir.bind(disk),
      unlink: disk.unlink.bind(disk),
    };
    const history = await FileHistory.open("/h", { files: { ...files, lock } });
    await history.clear({ ...key, execId: ExecId(RunId("r")) });
    expect(locked).toEqual([]);
    await history.clear(key);
    expect(locked).toHaveLength(1);
    expect((await history.load(key)).head).toBe(0);
  });

  test.each(["EACCES", "ELOOP", "EMLINK"])(
    "R7: a history that cannot be opened (%s) can be cleared, which needs the folder alone",
    async (code) => {
      const { disk } = await written();
      const refuse = (): Promise<never> => Promise.reject(Object.assign(new Error(code), { code }));
      const files = {
        open: (path: string, flags: number) => (path.endsWith(".jsonl") ? refuse() : disk.open(path, flags)),
        mkdir: disk.mkdir.bind(disk),
        unlink: disk.unlink.bind(disk),
      };
      const history = await FileHistory.open("/h", { files });
      await history.clear(key);
      expect(disk.bytes()).toBeUndefined();
    },
  );

  test("R10: to clear what another has cleared forgets its size, which a new file may have again", async () => {
    const disk = new FakeDisk();
    const [history, other] = [await reopened(disk), await reopened(disk)];
    await history.append(key, many(6));
    const size = disk.bytes()?.length ?? 0;
    await other.clear(key);
    await history.clear(key);
    await other.append(key, [say("")]);
    const padding = "x".repeat(size - (disk.bytes()?.length ?? 0));
    await other.clear(key);
    await other.append(key, [say(padding)]);
    expect(disk.bytes()).toHaveLength(size);
    await history.append(key, [say("second")]);
    expect((await other.load(key)).messages).toEqual([say(padding), say("second")]);
  });

  test("R7: a disk whose errors are of another realm, as in jest, tells that there is no history yet", async () => {
    const disk = new FakeDisk();
    const noFile = runInNewContext('Object.assign(new Error(), { code: "ENOENT" })') as Error;
    const files = {
      open: (path: string, flags: number) =>
        path.endsWith(".jsonl") ? Promise.reject(noFile) : disk.open(path, flags),
      mkdir: disk.mkdir.bind(disk),
      unlink: disk.unlink.bind(disk),
    };
    const history = await FileHistory.open("/h", { files });
    expect(await history.load(key)).toEqual({ messages: [], head: 0 });
  });

  test("R10: who has opened one folder twice, and writes through both at once, damages nothing", async () => {
    const directory = await folder();
    const [one, two] = [await FileHistory.open(directory), await FileHistory.open(directory)];
    const appends = many(8).map((message, n) => (n % 2 === 0 ? one : two).append(key, [message]));
    await Promise.all(appends);
    const { messages } = await one.load(key);
    expect(messages).toHaveLength(8);
    expect(messages).toEqual(expect.arrayContaining([...many(8)]));
    await two.append(key, [say("last")]);
    expect((await one.load(key)).messages.at(-1)).toEqual(say("last"));
  });

  test("R10: close waits for what was begun, and refuses the rest in words", async () => {
    const directory = await folder();
    const history = await FileHistory.open(directory);
    const job = history.append(key, many(5));
    await history.close();
    await history.close();
    await job;
    await expect(history.append(key, many(1))).rejects.toThrow(
      /^history is "closed"; expected an open history/,
    );
    await expect(history.load(key)).rejects.toThrow(/closed/);
    await expect(history.clear(key)).rejects.toThrow(/closed/);
    await using again = await FileHistory.open(directory);
    expect((await again.load(key)).head).toBe(5);
  });

  test("R10: a failed append does not stop the ones that wait behind it", async () => {
    const disk = new FakeDisk();
    const history = await reopened(disk);
    await history.append(key, many(1));
    disk.failAt(3, "ENOSPC");
    const [first, second] = await Promise.allSettled([
      history.append(key, [say("a")]),
      history.append(key, [say("b")]),
    ]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
    expect((await history.load(key)).messages).toEqual([say("0"), say("b")]);
  });

  test("T5: what the disk refuses is a typed error that names the file and may be tried again", async () => {
    const disk = new FakeDisk();
    const history = await reopened(disk);
    const acts = {
      written: () => history.append(key, [say("a")]),
      read: () => history.load(key),
      cleared: () => history.clear(key),
    };
    await history.append(key, many(1));
    for (const [done, act] of Object.entries(acts)) {
      // To clear a history looks first whether there is one.
      disk.failAt(done === "cleared" ? 2 : 1, "ENOSPC");
      const failed = act();
      await expect(failed).rejects.toMatchObject({ code: "JOURNAL_FAILED", final: false, retryable: true });
      await expect(failed).rejects.toMatchObject({ cause: { code: "ENOSPC" } });
      await expect(failed).rejects.toThrow(`.jsonl could not be ${done}: ENOSPC`);
      await act();
    }
  });

  test("R10: an append to a file left alone reads nothing of it", async () => {
    const disk = new FakeDisk();
    const history = await reopened(disk);
    await history.append(key, many(1_000));
    const before = disk.operations;
    await history.append(key, many(1));
    // open, stat, write, sync
    expect(disk.operations - before).toBe(4);
  });

  test("T12: a folder that may not be written to gives the system's error as the cause of ours", async () => {
    const directory = join(await folder(), "locked");
    await mkdir(directory, { mode: 0o500 });
    const history = await FileHistory.open(directory);
    const outcome = await history.append(key, many(1)).catch((error: unknown) => error);
    // Root may write everywhere; everybody else gets EACCES.
    if (process.getuid?.() === 0) expect(outcome).toBeUndefined();
    else expect(outcome).toMatchObject({ code: "JOURNAL_FAILED", cause: { code: "EACCES" } });
    await chmod(directory, 0o700);
  });
});
