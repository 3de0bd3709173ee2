import { link, mkdir, mkdtemp, open, readdir, rm, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineTool, isRaviError } from "@ravi/kernel";
import { MemoryJournal, Runtime } from "@ravi/runtime";
import { FileSessionStore, SessionAgent, type SessionFiles } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";

/** The disk of this machine, which refuses one write. */
class FaultyDisk implements SessionFiles {
  readonly mkdir = mkdir;
  readonly link = link;
  readonly unlink = unlink;
  readonly readdir = readdir;
  private left: number;

  constructor(nth: number) {
    this.left = nth;
  }

  async open(...args: Parameters<SessionFiles["open"]>) {
    const file = await open(...args);
    return {
      stat: () => file.stat(),
      read: (bytes: Uint8Array, offset: number, length: number, position: number) =>
        file.read(bytes, offset, length, position),
      write: async (bytes: Uint8Array, offset: number, length: number) => {
        if (--this.left === 0) throw Object.assign(new Error("the disk is full"), { code: "ENOSPC" });
        return file.write(bytes, offset, length);
      },
      truncate: (size: number) => file.truncate(size),
      sync: () => file.sync(),
      close: () => file.close(),
    };
  }
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ravi-session-disk-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

function clerk(files: SessionFiles, root: string) {
  const done: string[] = [];
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: () => String(done.push("look")),
  });
  const model = scriptedModel(({ messages }) => {
    done.push("ask");
    return messages.at(-1)?.role === "tool" ? "Seen." : { toolCalls: [{ name: "look", arguments: {} }] };
  });
  const store = new FileSessionStore(root, { files });
  const agent = new SessionAgent({ name: "clerk", model, store, tools: [look], secrets: [] });
  return { agent, store, done };
}

test("O19: a run whose session cannot be written is not over: it is resumed when the disk is well again, and repeats nothing", async () => {
  for (let nth = 1; ; nth++) {
    const { agent, store, done } = clerk(new FaultyDisk(nth), join(await folder(), "sessions"));
    const runtime = new Runtime({ journal: new MemoryJournal(), agents: [agent] });
    const { result } = runtime.run(agent, "Look.", { runId: "r", sessionId: "s" });
    const first = await result.catch((error: unknown) => error);
    // The last write releases the lock, after the turn. Of the others, the first one locks, and then there are four messages.
    if (isRaviError(first) || nth <= 5) expect([nth, first]).toMatchObject([nth, { code: "JOURNAL_FAILED" }]);
    else return expect(first).toMatchObject({ status: "completed" });
    expect(await runtime.list()).toMatchObject([{ runId: "r", status: "running" }]);
    expect(await runtime.resume("r").result).toMatchObject({ status: "completed", output: "Seen." });
    expect(done).toEqual(["ask", "look", "ask"]);
    const log = await store.open("s");
    const said = log.heads.filter(({ kind }) => kind === "message").map(async (head) => log.read(head));
    const roles = (await Promise.all(said)).map((entry) => "message" in entry && entry.message.role);
    expect(roles).toEqual(["user", "assistant", "tool", "assistant"]);
    await log.close();
  }
});

test("O19: without a journal there is nothing to resume, and a run whose session cannot be written has failed", async () => {
  const { agent } = clerk(new FaultyDisk(2), join(await folder(), "sessions"));
  const { result } = new Runtime().run(agent, "Look.", { sessionId: "s" });
  expect(await result).toMatchObject({ status: "failed", error: { code: "JOURNAL_FAILED" } });
});
