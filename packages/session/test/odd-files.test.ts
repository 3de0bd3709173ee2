import { appendFile, chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { JournalFailedError } from "@ravi/kernel";
import {
  FileSessionStore,
  MemorySessionStore,
  type SessionFile,
  type SessionFiles,
  type SessionStore,
} from "@ravi/session";
import { scriptedModel, virtualClock } from "@ravi/testing";
import { expect, it } from "vitest";
import { nodeFiles } from "../src/store/node-files.ts";
import { problemWith } from "./prompt-check.ts";
import { folder, recorder, session, tool } from "./support.ts";

const model = scriptedModel(() => "ok", { record: false });

async function oneSession(): Promise<{ root: string; path: string }> {
  const root = join(await folder(), "sessions");
  const agent = session({ model, store: new FileSessionStore(root), sessionId: "s" });
  await agent.invoke("x");
  await agent.close();
  const name = (await readdir(root)).find((each) => each.endsWith(".jsonl")) ?? "";
  return { root, path: join(root, name) };
}

const open = (root: string, id = "s") =>
  session({ model, store: new FileSessionStore(root), sessionId: id }).open();

it("O19: an empty file, a byte order mark, other line ends, a line too many: each is reported with its place, and kept", async () => {
  const edits: readonly ((text: string) => string)[] = [
    () => "",
    (text) => `\uFEFF${text}`,
    (text) => text.replaceAll("\n", "\r\n"),
    (text) => `${text}\n`,
    (text) => `${text}{"by":"hand"}\n`,
    (text) => text.replace('"content":"x"', '"content":"y"'),
  ];
  for (const edit of edits) {
    const { root, path } = await oneSession();
    const damaged = edit(await readFile(path, "utf8"));
    await writeFile(path, damaged);
    await expect(open(root)).rejects.toMatchObject({ code: "JOURNAL_CORRUPT", line: expect.any(Number) });
    expect(await readFile(path, "utf8")).toBe(damaged);
  }
});

it("O19: a link, a folder or a file that may not be read in a session's place is a plain error that names the session", async () => {
  const spoil: readonly ((path: string) => Promise<unknown>)[] = [
    (path) => symlink("/etc/hostname", path),
    (path) => mkdir(path),
  ];
  for (const each of spoil) {
    const { root, path } = await oneSession();
    const other = path.replace(/s-s-.*/, "");
    await each(`${path}.other`);
    await appendFile(join(other, "s-foreign.jsonl"), "not a session");
    const store = new FileSessionStore(root);
    expect(await store.list()).toHaveLength(1);
    const { rename, rm } = await import("node:fs/promises");
    await rm(path);
    await rename(`${path}.other`, path);
    await expect(open(root)).rejects.toMatchObject({
      code: "JOURNAL_FAILED",
      message: expect.stringContaining("session s could not be opened"),
    });
    expect(await store.list()).toEqual([]);
  }
});

it("O19: in a folder that may not be written, a turn fails with an error that says so, and works when it may", async () => {
  const root = join(await folder(), "sessions");
  let isReadOnly = true;
  const refuse = async (): Promise<never> => {
    throw Object.assign(new Error("EROFS: read-only file system"), { code: "EROFS" });
  };
  const files: SessionFiles = {
    ...nodeFiles,
    mkdir: (path, options) => (isReadOnly ? refuse() : nodeFiles.mkdir(path, options)),
  };
  const agent = session({ model, store: new FileSessionStore(root, { files }), sessionId: "s" });
  await expect(agent.invoke("x")).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  isReadOnly = false;
  expect((await agent.invoke("y")).output).toBe("ok");
  expect(await agent.sessionManager.messages()).toHaveLength(2);
});

/** A disk that can be full. */
function fillable(): { readonly files: SessionFiles; isFull: boolean } {
  const full = (): Error => Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
  const disk = {
    isFull: false,
    files: {
      ...nodeFiles,
      async open(path: string, flags: number, mode?: number) {
        const file = await nodeFiles.open(path, flags, mode);
        const write: SessionFile["write"] = (bytes, offset, length) =>
          disk.isFull ? Promise.reject(full()) : file.write(bytes, offset, length);
        return { ...file, write };
      },
    },
  };
  return disk;
}

it("O19: a disk that is full when a session is closed leaves no lock behind", async () => {
  const root = join(await folder(), "sessions");
  const disk = fillable();
  const { files } = disk;
  const store = new FileSessionStore(root, { files });
  const agent = session({ model, store, sessionId: "s" });
  await agent.invoke("x");
  disk.isFull = true;
  await expect(agent.invoke("y")).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  await agent.close();
  disk.isFull = false;
  const next = session({ model, store, sessionId: "s" });
  expect(await (await next.open()).messages()).toHaveLength(2);
  expect((await next.invoke("z")).output).toBe("ok");
});

it("O13: a fork that cannot be written leaves the conversation where it stood", async () => {
  const disk = fillable();
  const store = new FileSessionStore(join(await folder(), "sessions"), { files: disk.files });
  const agent = session({ model, store, sessionId: "s" });
  await agent.invoke("x");
  const start = agent.sessionManager.leaf ?? "";
  await agent.invoke("y");
  disk.isFull = true;
  await expect(agent.fork(start)).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  disk.isFull = false;
  expect(await agent.sessionManager.messages()).toHaveLength(4);
  await agent.invoke("z");
  expect(await agent.sessionManager.messages()).toHaveLength(6);
});

it("O19: whatever a clock says, what is written can be read again", async () => {
  for (const now of [1_700_000_000_000.5, -5, 8.64e15]) {
    const root = join(await folder(), "sessions");
    const clock = { ...virtualClock(), now: () => now };
    const agent = session({ model, store: new FileSessionStore(root), sessionId: "s", clock });
    await agent.invoke("x");
    await agent.close();
    const manager = await open(root);
    expect(await manager.messages()).toHaveLength(2);
  }
});

it("O19: a clock that says no time at all damages no session", async () => {
  for (const now of [Number.NaN, Infinity, 1e21]) {
    const { root } = await oneSession();
    const clock = { ...virtualClock(), now: () => now };
    const agent = session({ model, store: new FileSessionStore(root), sessionId: "s", clock });
    const manager = await agent.open();
    await manager.label(manager.leaf ?? "", "here");
    await agent.close();
    expect([...(await open(root)).labels.values()]).toEqual(["here"]);
  }
});

it("O19: an id that a session cannot store is refused in a fork as well, and leaves no session behind", async () => {
  const { root } = await oneSession();
  const store = new FileSessionStore(root);
  const first = session({ model, store, sessionId: "s" });
  const manager = await first.open();
  const leaf = manager.leaf ?? "";
  await manager.label(leaf, "here");
  await first.close();
  let count = 0;
  const ids = { uuid: () => `urn:uuid:${++count}`, random: () => 0.5 };
  const agent = session({ model, store, sessionId: "s", ids });
  await expect(agent.fork(leaf, { newSession: true })).rejects.toMatchObject({ field: "entry id" });
  expect((await store.list()).map(({ id }) => id)).toEqual(["s"]);
});

it("O19: ids that count up at their end do not mix up turns", async () => {
  let count = 0;
  const uuid = (): string => `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
  const agent = session({ model, ids: { uuid, random: () => 0.5 } });
  for (const text of ["one", "two", "three"]) await agent.invoke(text);
  expect((await agent.sessionManager.messages()).map(({ content }) => content)).toEqual([
    "one",
    "ok",
    "two",
    "ok",
    "three",
    "ok",
  ]);
});

it("O19: a folder whose modes were opened is still read, and new files are the owner's alone", async () => {
  const { root } = await oneSession();
  await chmod(root, 0o755);
  expect((await (await open(root)).messages()).length).toBe(2);
});

it("O4, O19: whichever write fails, the turn ends once with that error, and the conversation goes on when the disk does", async () => {
  for (let nth = 1; nth <= 6; nth++) {
    const log: string[] = [];
    let count = 0;
    const memory = new MemorySessionStore();
    const store: SessionStore = {
      list: () => memory.list(),
      delete: (id) => memory.delete(id),
      open(id) {
        const inner = memory.open(id);
        return {
          id,
          heads: inner.heads,
          get info() {
            return inner.info;
          },
          read: (head) => inner.read(head),
          close: () => inner.close(),
          append(entries, begin) {
            if (++count === nth)
              throw new JournalFailedError({ what: "no room", final: false, cause: undefined });
            return inner.append(entries, begin);
          },
        };
      },
    };
    const worker = scriptedModel(({ messages }) => {
      expect(problemWith(messages)).toBeUndefined();
      const last = messages.at(-1);
      return last?.role === "user" && last.content === "Work."
        ? {
            toolCalls: [
              { name: "work", arguments: {}, id: "a" },
              { name: "work", arguments: {}, id: "b" },
            ],
          }
        : "Done.";
    });
    const agent = session({
      model: worker,
      store,
      tools: [tool("work", () => "done")],
      extensions: [recorder(log)],
    });
    await expect(agent.invoke("Work.")).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
    expect(log.filter((name) => name.startsWith("agent_end"))).toHaveLength(1);
    expect(log.filter((name) => name === "settled")).toHaveLength(1);
    expect((await agent.invoke("Go on.")).output).toBe("Done.");
    expect(problemWith(await agent.sessionManager.messages())).toBeUndefined();
    // The prompt, the user's message, the answer, two results: from then on there is work that the model must know of.
    const roles = (await agent.sessionManager.messages()).map(({ role }) => role);
    expect(roles.includes("tool")).toBe(nth > 3);
    // What another process would find is what this one has.
    const live = await agent.sessionManager.messages();
    await agent.close();
    expect(await (await agent.open()).messages()).toEqual(live);
  }
});
