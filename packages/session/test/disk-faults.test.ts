import { isRaviError } from "@ravi/kernel";
import { FileSessionStore, type SessionFile, type SessionFiles } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it } from "vitest";
import { FakeDisk } from "./fake-disk.ts";
import { session } from "./support.ts";

/** A disk that refuses some operations in a row, and is as good as new before and after them. */
class FaultyDisk implements SessionFiles {
  private readonly disk = new FakeDisk({ random: () => 0.5 });
  private readonly from: number;
  private readonly to: number;
  private count = 0;
  refused: string | undefined;

  constructor(from: number, howMany: number) {
    this.from = from;
    this.to = from + howMany;
  }

  /** Whether all faults that it was to have are over. */
  get isMended(): boolean {
    return this.count >= this.to - 1;
  }

  async mkdir(): Promise<undefined> {
    this.tick("mkdir");
    await this.disk.mkdir();
  }
  async link(existing: string, name: string): Promise<void> {
    this.tick("link");
    await this.disk.link(existing, name);
  }
  async unlink(path: string): Promise<void> {
    this.tick("unlink");
    await this.disk.unlink(path);
  }
  async readdir(path: string): Promise<string[]> {
    this.tick("readdir");
    return this.disk.readdir(path);
  }
  async open(path: string, flags: number): Promise<SessionFile> {
    this.tick("open");
    const file = await this.disk.open(path, flags);
    const unless = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
      this.tick(what);
      return act();
    };
    return {
      stat: () => unless("stat", () => file.stat()),
      read: (...args) => unless("read", () => file.read(...args)),
      write: (...args) => unless("write", () => file.write(...args)),
      truncate: (size) => unless("truncate", () => file.truncate(size)),
      sync: () => unless("sync", () => file.sync()),
      close: () => unless("close", () => file.close()),
    };
  }

  private tick(what: string): void {
    const at = ++this.count;
    if (at < this.from || at >= this.to) return;
    this.refused = `${what}, operation ${at}`;
    throw Object.assign(new Error(`EIO: ${this.refused}`), { code: "EIO" });
  }
}

const model = scriptedModel(() => "ok", { record: false });

it("O19: whichever single operation of a disk fails, it is one typed error, and the next try finds nothing locked or damaged", async () => {
  for (let nth = 1; ; nth++) {
    const disk = new FaultyDisk(nth, 1);
    const store = new FileSessionStore("/sessions", { files: disk });
    const failures: string[] = [];
    const attempt = async (what: string, act: () => unknown): Promise<void> => {
      const before = disk.refused;
      try {
        await act();
      } catch (error) {
        const isExpected = disk.refused !== before && isRaviError(error, "JOURNAL_FAILED");
        if (!isExpected) failures.push(`${what} after ${disk.refused}: ${String(error)}`);
      }
    };
    const first = session({ model, store, sessionId: "s" });
    await attempt("a turn", () => first.invoke("one"));
    await attempt("a second turn", () => first.invoke("two"));
    await attempt("a close", () => first.close());
    const second = session({ model, store, sessionId: "s" });
    await attempt("an open", () => second.open());
    await attempt("a turn in what was opened", () => second.invoke("three"));
    await attempt("one more turn", () => second.invoke("four"));
    const leaf = second.sessionManager.leaf ?? "";
    await attempt("a fork", () => second.fork(leaf, { newSession: true }));
    await attempt("a turn of the fork", () => second.invoke("five"));
    await attempt("the last close", () => second.close());
    await attempt("a list", () => store.list());
    await attempt("a delete", () => store.delete("s"));
    expect(failures).toEqual([]);
    if (disk.refused === undefined) return;
  }
});

it("O19: a disk that is gone for a while leaves no session locked by the process that lives on", async () => {
  for (let from = 1; ; from++) {
    const disk = new FaultyDisk(from, 6);
    const store = new FileSessionStore("/sessions", { files: disk });
    const turn = async (): Promise<boolean> => {
      const agent = session({ model, store, sessionId: "s" });
      const isDone = await agent.invoke("x").then(
        () => true,
        () => false,
      );
      return agent.close().then(
        () => isDone,
        () => false,
      );
    };
    const isWhole = (await turn()) && (await turn()) && disk.refused === undefined;
    if (isWhole) return;
    while (!disk.isMended) await turn();
    expect([from, await turn()]).toEqual([from, true]);
  }
});

it("O19: what a process could not take back is not taken for its own where another holds the session by now", async () => {
  const disk = new FakeDisk({ random: () => 0.5 });
  const liveness = (me: string) => ({ me, isGone: () => false });
  const mine = new FileSessionStore("/sessions", { files: disk, liveness: liveness("me") });
  const others = new FileSessionStore("/sessions", { files: disk, liveness: liveness("other") });
  const first = session({ model, store: mine, sessionId: "s" });
  await first.invoke("one");
  disk.dieAfter(0);
  await expect(first.close()).rejects.toMatchObject({ code: "JOURNAL_FAILED" });
  disk.mend();
  const second = session({ model, store: others, sessionId: "s" });
  const locked = await second.open().catch(String);
  const folder = String(locked).slice(String(locked).indexOf("/sessions"));
  for (const name of await disk.readdir(folder)) await disk.unlink(`${folder}/${name}`);
  await second.open();
  const third = session({ model, store: mine, sessionId: "s" });
  await expect(third.open()).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
});

it("O19: a delete during which the disk goes away is a typed error, wherever that happens", async () => {
  for (let operations = 0; ; operations++) {
    const disk = new FakeDisk({ random: () => 0.5 });
    const store = new FileSessionStore("/sessions", { files: disk });
    const agent = session({ model, store, sessionId: "s" });
    await agent.invoke("one");
    await agent.close();
    disk.dieAfter(operations);
    const failure: unknown = await store.delete("s").catch((error: unknown) => error);
    disk.mend();
    if (failure === undefined) return;
    expect([operations, failure]).toEqual([
      operations,
      expect.objectContaining({ code: "JOURNAL_FAILED", message: expect.stringContaining("session s") }),
    ]);
  }
});

it("O19: an entry that was changed on the disk while its session is open is found when it is read, and only its byte is named", async () => {
  const disk = new FakeDisk({ random: () => 0.5 });
  const store = new FileSessionStore("/sessions", { files: disk });
  const agent = session({ model, store, sessionId: "s" });
  await agent.invoke("one");
  const [{ id, place } = { id: "", place: -1 }] = agent.sessionManager.entries();
  const bytes = disk.bytes(".jsonl").slice();
  bytes[place + 40] = 0x23;
  disk.damage(".jsonl", bytes);
  await expect(agent.sessionManager.read(id)).rejects.toMatchObject({
    code: "JOURNAL_CORRUPT",
    position: place,
    message: expect.stringMatching(new RegExp(`^session s is damaged at byte ${place}: entry ${id} is not`)),
  });
});
