import { Buffer } from "node:buffer";
import { mkdir, readdir, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import {
  FileSessionStore,
  MemorySessionStore,
  type SessionEntry,
  type SessionFile,
  type SessionFiles,
  type SessionStore,
} from "@ravi/session";
import { describe, expect, it } from "vitest";
import { FakeDisk } from "./fake-disk.ts";
import { folder } from "./support.ts";

const said = (id: string, parent: string | null, content = id): SessionEntry => ({
  kind: "message",
  id,
  parent,
  at: 1,
  message: { role: "user", content },
});
const BEGIN = { at: 5 };

const stores: Readonly<Record<string, () => Promise<SessionStore>>> = {
  MemorySessionStore: async () => new MemorySessionStore(),
  FileSessionStore: async () => new FileSessionStore(join(await folder(), "sessions")),
};

for (const [name, make] of Object.entries(stores)) {
  describe(`${name} as a SessionStore`, () => {
    it("O19: gives back what was written, in its order, after it was closed and opened", async () => {
      const store = await make();
      const log = await store.open("s");
      const entries: SessionEntry[] = [
        said("a", null, 'Grüße \u2028 🙂 \\ "'),
        {
          kind: "compaction",
          id: "b",
          parent: "a",
          at: 2,
          strategy: "x",
          items: [{ from: "a", to: "a" }],
          before: 2,
          after: 1,
        },
        { kind: "branch", id: "c", parent: "a", at: 3, note: "n" },
        { kind: "leaf", id: "d", parent: null, at: 4, target: "b" },
        { kind: "label", id: "e", parent: null, at: 5, target: "a", label: "start" },
        { kind: "model", id: "f", parent: "b", at: 6, model: "m" },
        { kind: "prompt", id: "g", parent: null, at: 7, text: "p" },
        { kind: "custom", id: "h", parent: "f", at: 8, name: "x", data: { deep: [1, null] } },
      ];
      const heads = [];
      for (const entry of entries) heads.push(...(await log.append([entry], BEGIN)));
      for (const [at, head] of heads.entries()) expect(await log.read(head)).toEqual(entries[at]);
      await log.close();
      const again = await store.open("s");
      expect(again.info).toEqual({ id: "s", createdAt: 5, origin: null });
      expect(again.heads.map(({ id, parent, kind, at }) => [id, parent, kind, at])).toEqual(
        entries.map(({ id, parent, kind, at }) => [id, parent, kind, at]),
      );
      const read = [];
      for (const head of again.heads) read.push(await again.read(head));
      expect(read).toEqual(entries);
      expect(again.heads[3]?.entry).toEqual(entries[3]);
      await again.close();
    });

    it("O19: a session that nothing was written to leaves nothing behind", async () => {
      const store = await make();
      const log = await store.open("s");
      expect(log.info).toBeNull();
      await log.close();
      expect(await store.list()).toEqual([]);
    });

    it("O19: there is one writer; closing lets the next one in", async () => {
      const store = await make();
      const log = await store.open("s");
      await log.append([said("a", null)], BEGIN);
      await expect((async () => store.open("s"))()).rejects.toMatchObject({
        code: "JOURNAL_LOCKED",
        sessionId: "s",
      });
      await expect((async () => store.delete("s"))()).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
      await log.close();
      await log.close();
      const next = await store.open("s");
      expect(next.heads).toHaveLength(1);
      await next.close();
    });

    it("several entries of a first append, and its origin, are there together", async () => {
      const store = await make();
      const origin = { sessionId: "o", entryId: "x" };
      const log = await store.open("s");
      await log.append([said("a", null), said("b", "a")], { at: 5, origin });
      await log.append([said("c", "b"), said("d", "c")], { at: 6 });
      await log.close();
      expect(await store.list()).toEqual([{ id: "s", createdAt: 5, origin }]);
      const again = await store.open("s");
      expect(again.heads.map(({ id }) => id)).toEqual(["a", "b", "c", "d"]);
      await again.close();
    });

    it("what is kept is a copy, and what is deleted is gone", async () => {
      const store = await make();
      const log = await store.open("s");
      const message = { role: "user" as const, content: [{ type: "text" as const, text: "before" }] };
      const [head] = await log.append([{ kind: "message", id: "a", parent: null, at: 1, message }], BEGIN);
      message.content[0] = { type: "text", text: "after" };
      expect(JSON.stringify(head && (await log.read(head)))).toContain("before");
      await log.close();
      await store.delete("s");
      await store.delete("s");
      expect(await store.list()).toEqual([]);
    });

    it("what is closed is refused", async () => {
      const store = await make();
      const log = await store.open("s");
      await log.close();
      await expect((async () => log.append([said("a", null)], BEGIN))()).rejects.toMatchObject({
        code: "INVALID_VALUE",
      });
    });

    it("T12: an id that is none is refused", async () => {
      const store = await make();
      for (const id of ["", "a\0b", "line\nbreak", "\ud800", "x".repeat(513)])
        await expect((async () => store.open(id))()).rejects.toMatchObject({ code: "INVALID_VALUE" });
    });
  });
}

/** Eighty ids that would like to be somewhere else, or to be somebody else. */
const HOSTILE = [
  "..",
  ".",
  "../x",
  "../../etc/passwd",
  "/etc/passwd",
  "//host/share",
  "C:\\Windows",
  "C:/x",
  "\\\\?\\C:\\x",
  "~",
  "~/x",
  "$HOME",
  "%2e%2e%2f",

  "a/b",
  "a\\b",
  "a//b",
  "a/../b",
  "a/./b",
  "./a",
  "a/",
  "/a/",
  "..\\..\\x",
  "....//....//x",
  "file:///etc/passwd",
  "s-../x",
  "CON",
  "con",
  "PRN",
  "AUX",
  "NUL",
  "nul",
  "COM1",
  "LPT1",
  "CON.jsonl",
  "aux.txt",
  "nul.",
  "com1 ",
  "Session",
  "session",
  "SESSION",
  "sEssion",
  "İ",
  "i",
  "ı",
  "I",
  "ß",
  "ss",
  "ﬀ",
  "ff",
  "é",
  "e\u0301",

  ".hidden",
  "-rf",
  "--help",
  " ",
  "  ",
  "a ",
  " a",
  "a.",
  "a..",
  "*",
  "?",
  "a*b",
  "a|b",
  "a<b>",
  'a"b',
  "a'b",
  "`id`",
  "$(id)",
  ";rm",
  "a&b",
  "locks",
  "locks/1",
  "s-",
  ".jsonl",
  "x.jsonl",
  "new-1",
  "draft-1",
  "__proto__",
  "constructor",
  "x".repeat(300),
  `${"x".repeat(299)}y`,
  "🙂".repeat(100),
  "\u202Eevil",
  "a\u200Bb",
  "ab",
];

describe("FileSessionStore on a disk", () => {
  it("T12: eighty hostile ids stay in the folder, each with a file of its own, with modes 0600 and 0700", async () => {
    expect(HOSTILE.length).toBeGreaterThanOrEqual(80);
    expect(new Set(HOSTILE).size).toBe(HOSTILE.length);
    const outer = await folder();
    const store = new FileSessionStore(join(outer, "sessions"), { sync: false });
    for (const id of HOSTILE) {
      const log = await store.open(id);
      await log.append([said("a", null, id)], BEGIN);
      await log.close();
    }
    expect(await readdir(outer)).toEqual(["sessions"]);
    const names = await readdir(join(outer, "sessions"));
    const files = names.filter((name) => name !== "locks");
    expect(new Set(files.map((name) => name.toLowerCase())).size).toBe(HOSTILE.length);
    for (const name of files) {
      expect(name).toMatch(/^s-[a-z0-9_]{0,40}-[0-9a-f]{64}\.jsonl$/);
      expect((await stat(join(outer, "sessions", name))).mode & 0o777).toBe(0o600);
    }
    expect((await stat(join(outer, "sessions"))).mode & 0o777).toBe(0o700);
    expect((await stat(join(outer, "sessions", "locks"))).mode & 0o777).toBe(0o700);
    for (const id of HOSTILE) {
      const log = await store.open(id);
      const [head] = log.heads;
      expect(head && (await log.read(head))).toMatchObject({ message: { content: id } });
      await log.close();
    }
    expect((await store.list()).map(({ id }) => id).toSorted()).toEqual(HOSTILE.toSorted());
  });

  it("T12: a link in the folder is not followed", async () => {
    const outer = await folder();
    const store = new FileSessionStore(join(outer, "sessions"));
    const log = await store.open("s");
    await log.append([said("a", null)], BEGIN);
    await log.close();
    const [name = ""] = (await readdir(join(outer, "sessions"))).filter((file) => file !== "locks");
    const other = new FileSessionStore(join(outer, "other"));
    await mkdir(join(outer, "other"));
    await symlink(join(outer, "sessions", name), join(outer, "other", name));
    await expect(other.open("s")).rejects.toMatchObject({ code: "JOURNAL_FAILED", cause: { code: "ELOOP" } });
    expect(await other.list()).toEqual([]);
  });

  /** On a disk in memory, since these tests write a file a thousand times. */
  async function written(count: number): Promise<{ disk: FakeDisk; store: FileSessionStore; bytes: Buffer }> {
    const disk = new FakeDisk({ random: () => 0.5 });
    const store = new FileSessionStore("/sessions", { files: disk });
    const log = await store.open("s");
    for (let n = 0; n < count; n++) await log.append([said(`e${n}`, n === 0 ? null : `e${n - 1}`)], BEGIN);
    await log.close();
    return { disk, store, bytes: Buffer.from(disk.bytes(".jsonl")) };
  }

  it("O19: cut at any byte, the file loses at most its unfinished line", async () => {
    const { disk, store, bytes } = await written(3);
    const header = bytes.indexOf(10) + 1;
    for (let cut = header; cut <= bytes.length; cut++) {
      disk.damage(".jsonl", bytes.subarray(0, cut));
      const log = await store.open("s");
      const whole = bytes.subarray(0, cut).toString("latin1").split("\n").length - 2;
      expect(log.heads).toHaveLength(whole);
      // And the next entry stands behind what was whole.
      await log.append([said("next", whole === 0 ? null : `e${whole - 1}`)], BEGIN);
      await log.close();
      const again = await store.open("s");
      expect(again.heads.map(({ id }) => id)).toEqual([...["e0", "e1", "e2"].slice(0, whole), "next"]);
      await again.close();
    }
  });

  it("O19: that an unfinished line was cut off is on the disk before anything is written behind it", async () => {
    const { disk, bytes } = await written(2);
    disk.damage(".jsonl", bytes.subarray(0, -3));
    const made: string[] = [];
    const watched: SessionFiles = Object.assign(Object.create(disk) as FakeDisk, {
      open: async (path: string, flags: number): Promise<SessionFile> => {
        const file = await disk.open(path, flags);
        if (!path.endsWith(".jsonl")) return file;
        const noted =
          <A extends unknown[], R>(what: string, act: (...given: A) => R) =>
          (...given: A): R => {
            made.push(what);
            return act(...given);
          };
        const [truncate, write] = [noted("truncate", file.truncate), noted("write", file.write)];
        return { ...file, truncate, write, sync: noted("sync", file.sync) };
      },
    });
    const log = await new FileSessionStore("/sessions", { files: watched }).open("s");
    expect(made).toEqual(["truncate", "sync"]);
    await log.close();
  });

  it("O19: a bit that fell over is reported with its line and its place, and nothing is changed", async () => {
    const { disk, store, bytes } = await written(4);
    const starts = [0, ...[...bytes.entries()].flatMap(([at, byte]) => (byte === 10 ? [at + 1] : []))];
    const lineOf = (at: number): number => starts.findLastIndex((start) => start <= at);
    let reported = 0;
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes);
      damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
      disk.damage(".jsonl", damaged);
      const error: unknown = await store.open("s").then(
        async (log) => {
          await log.close();
          return undefined;
        },
        (problem: unknown) => problem,
      );
      const line = lineOf(at);
      // In the header, a damaged version is another version.
      if (line === 0 && error instanceof Error && "field" in error) continue;
      expect(error).toMatchObject({
        code: "JOURNAL_CORRUPT",
        sessionId: "s",
        line: line + 1,
        position: starts[line],
      });
      expect(Buffer.from(disk.bytes(".jsonl")).equals(damaged)).toBe(true);
      reported++;
    }
    expect(reported).toBeGreaterThan(bytes.length - 20);
  });

  it("O19: zeros in the last line are what a power cut left, in one that others follow they are damage", async () => {
    const { disk, store, bytes } = await written(3);
    const [, , second = 0, third = 0] = [
      0,
      ...[...bytes.entries()].flatMap(([at, byte]) => (byte === 10 ? [at + 1] : [])),
    ];
    const holed = (start: number): Buffer => Buffer.from(bytes).fill(0, start + 20, start + 30);
    disk.damage(".jsonl", holed(second));
    await expect(store.open("s")).rejects.toMatchObject({
      code: "JOURNAL_CORRUPT",
      line: 3,
      position: second,
    });
    expect(Buffer.from(disk.bytes(".jsonl")).equals(holed(second))).toBe(true);
    disk.damage(".jsonl", holed(third));
    const log = await store.open("s");
    expect(log.heads.map(({ id }) => id)).toEqual(["e0", "e1"]);
    await log.close();
  });

  it("O19: a line that was taken out, moved or copied is damage too", async () => {
    const { disk, store, bytes } = await written(4);
    const [header, a, b, c, d] = bytes.toString("utf8").split("\n");
    for (const lines of [
      [header, a, c, d],
      [header, a, c, b, d],
      [header, a, a, b, c, d],
    ]) {
      disk.damage(".jsonl", Buffer.from(`${lines.join("\n")}\n`));
      await expect(store.open("s")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", line: 3 });
    }
  });

  it("a file of another format is refused by name and left as it is, and a file of another session is damage", async () => {
    const { disk, store, bytes } = await written(1);
    for (const format of [0, 2]) {
      const other = Buffer.from(bytes.toString("utf8").replace('"v":1', `"v":${format}`));
      disk.damage(".jsonl", other);
      const message = expect.stringContaining(`the format of session s is ${format}; expected format 1;`);
      await expect(store.open("s")).rejects.toMatchObject({ code: "INVALID_VALUE", message });
      expect(Buffer.from(disk.bytes(".jsonl")).equals(other)).toBe(true);
    }
    disk.damage(".jsonl", Buffer.from(bytes.toString("utf8").replace('"id":"s"', '"id":"t"')));
    await expect(store.open("s")).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", line: 1 });
  });

  it("a disk that takes nothing is an error that says so, and the session goes on when it is mended", async () => {
    const disk = new FakeDisk({ random: () => 0.5 });
    const store = new FileSessionStore("/sessions", { files: disk });
    const log = await store.open("s");
    disk.dieAfter(0);
    await expect(log.append([said("a", null)], BEGIN)).rejects.toThrow("EIO");
    disk.mend();
    await log.append([said("a", null)], BEGIN);
    disk.dieAfter(1);
    await expect(log.append([said("b", "a")], BEGIN)).rejects.toMatchObject({
      code: "JOURNAL_FAILED",
      final: true,
    });
    disk.mend();
    // Half a line may stand there that could not be taken back: nothing is written behind it.
    await expect(log.append([said("b", "a")], BEGIN)).rejects.toMatchObject({
      code: "JOURNAL_FAILED",
      final: true,
      message: expect.stringMatching(/; fix the cause and open the session again$/),
    });
    await log.close();
    const again = await store.open("s");
    await again.append([said("b", "a")], BEGIN);
    expect(again.heads.map(({ id }) => id)).toEqual(["a"]);
    await again.close();
  });

  it("who was begun twice before anything was written: the first to write has it", async () => {
    const store = new FileSessionStore(join(await folder(), "sessions"));
    const one = await store.open("s");
    const two = await store.open("s");
    await one.append([said("a", null)], BEGIN);
    await expect(two.append([said("b", null)], BEGIN)).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    await one.close();
    await expect(two.append([said("b", null)], BEGIN)).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
    await two.close();
  });
});

it.runIf(process.platform === "linux")(
  "a place where no folder can be created is an error, and nobody waits there",
  async () => {
    const log = await new FileSessionStore("/proc/ravi/sessions").open("s");
    await expect(log.append([said("a", null)], BEGIN)).rejects.toMatchObject({
      code: "JOURNAL_FAILED",
      message: expect.stringMatching(/^session s could not be .*: ENOENT.*proc.ravi/),
    });
  },
);

it("a disk whose errors are of another realm, as in jest, tells that there is no session yet", async () => {
  const disk = new FakeDisk({ random: () => 0.5 });
  const elsewhere = runInNewContext("(code) => Promise.reject(Object.assign(new Error(code), { code }))") as (
    code: string,
  ) => Promise<never>;
  const open: SessionFiles["open"] = (path, flags) =>
    disk.open(path, flags).catch((error: unknown) => elsewhere((error as { code: string }).code));
  const files: SessionFiles = Object.assign(Object.create(disk) as FakeDisk, { open });
  const log = await new FileSessionStore("/sessions", { files }).open("s");
  expect(await log.append([said("a", null)], BEGIN)).toHaveLength(1);
  await log.close();
});
