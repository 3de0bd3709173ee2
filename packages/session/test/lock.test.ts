import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { expect, it, onTestFinished, vi } from "vitest";
import type { SessionFiles } from "@ravi/session";
import { FileLog } from "../src/store/file-log.ts";
import type { LockTime } from "../src/store/held-note.ts";
import { locationOf } from "../src/store/location.ts";
import { claim, expiresInMs } from "../src/store/lock.ts";
import { processLiveness } from "../src/store/owner.ts";
import { FakeDisk } from "./fake-disk.ts";

const asks = (files: SessionFiles, me: string) =>
  claim({
    files,
    folder: "/locks/s",
    liveness: { me, isGone: () => false },
    abandoned: new Set(),
  });

async function held(files: SessionFiles, me: string): Promise<() => Promise<void>> {
  const lock = await asks(files, me);
  if ("heldBy" in lock) throw new Error(`${lock.heldBy} has it`);
  return () => lock.release();
}

function through(disk: FakeDisk, open: SessionFiles["open"]): SessionFiles {
  return {
    mkdir: () => disk.mkdir(),
    link: (existing, name) => disk.link(existing, name),
    unlink: (path) => disk.unlink(path),
    readdir: (path) => disk.readdir(path),
    open,
  };
}

/** The disk, for one who looks at the notes and is then so slow that something happens before it writes its own. */
function slow(disk: FakeDisk, meanwhile: () => Promise<void>): SessionFiles {
  let isFirst = true;
  return through(disk, async (path, flags) => {
    if (isFirst && path.includes("draft-")) {
      isFirst = false;
      await meanwhile();
    }
    return disk.open(path, flags);
  });
}

it("O19: who was slow to take a lock does not take the number of a note that is gone, beside its holder", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const files = slow(disk, async () => {
    const release = await held(disk, "quick");
    await release();
    await held(disk, "third");
  });
  expect(await asks(files, "slow")).toEqual({ heldBy: "third" });
  expect(await disk.readdir("/locks/s")).toEqual(["3"]);
});

it("O19: who was slow to take a lock that was released meanwhile has it, under a higher number", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const files = slow(disk, async () => {
    const release = await held(disk, "quick");
    await release();
  });
  await held(files, "slow");
  expect(await asks(disk, "other")).toEqual({ heldBy: "slow" });
  expect(await disk.readdir("/locks/s")).toEqual(["3"]);
});

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A machine that nobody else can see, on a disk that it shares. */
function far(disk: FakeDisk, me: string, clock = () => disk.now, files: SessionFiles = disk) {
  const renewals = new Set<() => void>();
  const time: LockTime = {
    now: clock,
    async pause(milliseconds) {
      disk.now += milliseconds;
      await settle();
    },
    every: (_, task) => (renewals.add(task), () => void renewals.delete(task)),
  };
  const liveness = { me, isGone: () => false, canTell: (owner: string) => owner === me };
  return {
    renewals,
    asks: () => claim({ files, folder: "/locks/s", liveness, abandoned: new Set(), time }),
    async holds() {
      const lock = await this.asks();
      if ("heldBy" in lock) throw new Error(`${lock.heldBy} has it`);
      return lock;
    },
  };
}

it("O19: a lock whose holder nobody here can see is held as long as it is renewed, and expires 30 s after that", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const [here, there] = [far(disk, "here"), far(disk, "there")];
  const lock = await there.holds();
  for (let n = 0; n < 10; n++) {
    disk.now += 10_000;
    expect(await here.asks()).toEqual({ heldBy: "there" });
    for (const renew of there.renewals) renew();
    await settle();
  }
  disk.now += 31_000;
  await here.holds();
  expect(await there.asks()).toEqual({ heldBy: "here" });
  expect(await lock.isHeld()).toBe(false);
  await lock.release();
  expect(await there.asks()).toEqual({ heldBy: "here" });
  expect(await disk.readdir("/locks/s")).toEqual(["2"]);
});

it("O19: of a lock it is known when it expires, unless it can be seen that its holder lives", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const here = { me: "here", isGone: () => false, canTell: (owner: string) => owner === "here" };
  const left = () => expiresInMs({ files: disk, folder: "/locks/s", liveness: here, abandoned: new Set() });
  expect(await left()).toBe(0);
  const there = await far(disk, "there").holds();
  expect(await left()).toBe(30_000);
  disk.now += 12_000;
  expect(await left()).toBe(18_000);
  disk.now += 20_000;
  expect(await left()).toBe(0);
  await there.release();
  expect(await left()).toBe(0);
  await far(disk, "here").holds();
  expect(await left()).toBeUndefined();
  const names = await disk.readdir("/locks/s");
  expect(names.filter((name) => name.startsWith("draft-"))).toEqual([]);
});

it("O19: a holder that stood still and comes back in the moment in which its lock is taken over has lost it", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const lock = await far(disk, "there").holds();
  disk.now += 31_000;
  let isHeld: boolean | Promise<boolean> | undefined;
  const files = slow(disk, async () => void (isHeld = lock.isHeld()));
  const liveness = { me: "here", isGone: () => false, canTell: () => false };
  // It has seen the old time, and the holder renews its note before the lock is taken over.
  await claim({ files, folder: "/locks/s", liveness, abandoned: new Set() });
  expect(await isHeld).toBe(false);
});

it("O19: who holds a lock asks the disk for it only if it was not renewed lately", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const there = far(disk, "there");
  const lock = await there.holds();
  for (let n = 0; n < 3; n++) {
    disk.now += 14_000;
    expect(lock.isHeld()).toBe(true);
    for (const renew of there.renewals) renew();
    await settle();
  }
  disk.now += 16_000;
  expect(lock.isHeld()).toBeInstanceOf(Promise);
  await settle();
  await settle();
  expect(lock.isHeld()).toBe(true);
});

it("O19: the lock of a holder that can be seen never expires, however long it has stood still", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  await far(disk, "there").holds();
  disk.now += 1_000_000;
  expect(await asks(disk, "here")).toEqual({ heldBy: "there" });
});

it("O19: a holder whose clock was set back asks the disk whether the lock is still its own", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  let back = 0;
  const lock = await far(disk, "there", () => disk.now - back).holds();
  disk.now += 31_000;
  back = 3_600_000;
  await far(disk, "here").holds();
  expect(await lock.isHeld()).toBe(false);
});

it("O19: where the machine has no name, nobody can be seen, and locks expire", () => {
  vi.spyOn(os, "hostname").mockImplementation(() => {
    throw new Error("Requires sys access to hostname");
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  });
  const { me, canTell, isGone } = processLiveness();
  expect([isGone(me), canTell?.(me)]).toEqual([false, false]);
});

it("O19: a lock with a part of a name, as a power failure may leave it, is held by nobody", () => {
  const { me, isGone } = processLiveness();
  const cut = me.replace(/:\d+$/, "");
  expect([me, cut, "process:host:12:34", ""].map(isGone)).toEqual([false, true, true, true]);
});

it("O19: a renewal that the disk refuses does not lose the lock", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  let isFull = false;
  const files = through(disk, async (path, flags) => {
    if (isFull) throw Object.assign(new Error("no space left"), { code: "ENOSPC" });
    return disk.open(path, flags);
  });
  const lock = await far(disk, "there", undefined, files).holds();
  disk.now += 16_000;
  isFull = true;
  await expect(lock.isHeld()).rejects.toThrow("no space left");
  isFull = false;
  expect(await lock.isHeld()).toBe(true);
});

it("O19: the lock of a store whose files have no times never expires", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const files = through(disk, async (path, flags) => {
    const file = await disk.open(path, flags);
    const stat = async () => ({ ...(await file.stat()), mtimeMs: undefined });
    return Object.assign(Object.create(file) as typeof file, { stat });
  });
  await far(disk, "there", undefined, files).holds();
  disk.now += 1_000_000;
  expect(await far(disk, "here", undefined, files).asks()).toEqual({ heldBy: "there" });
});

it("O19: a lock that is held keeps no process alive", async () => {
  const started = vi.spyOn(globalThis, "setInterval");
  onTestFinished(() => void vi.restoreAllMocks());
  vi.resetModules();
  // What is loaded now must not stay: the files of one worker share their modules.
  onTestFinished(() => void vi.resetModules());
  const { realTime } = await import("../src/store/held-note.ts");
  const stop = realTime.every(1_000, () => {});
  expect(started.mock.results[0]?.value.hasRef()).toBe(false);
  stop();
});

it("O19: the timer of a lock may be a number, as in jsdom and Deno", async () => {
  const timer = 7;
  vi.spyOn(globalThis, "setInterval").mockImplementation((() => timer) as never);
  const ended = vi.spyOn(globalThis, "clearInterval").mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  vi.resetModules();
  // What is loaded now must not stay: the files of one worker share their modules.
  onTestFinished(() => void vi.resetModules());
  const { realTime } = await import("../src/store/held-note.ts");
  realTime.every(1_000, () => {})();
  expect(ended).toHaveBeenCalledWith(timer);
});

it("O19: a lock that was released is not renewed any more", async () => {
  const disk = new FakeDisk({ random: () => 0 });
  const there = far(disk, "there");
  const lock = await there.holds();
  expect(there.renewals.size).toBe(1);
  await lock.release();
  expect(there.renewals.size).toBe(0);
  await far(disk, "here").holds();
});

it("O19: who has lost the lock writes nothing more, and says so", async () => {
  const disk = new FakeDisk({ random: () => 0.5 });
  let isHeld = true;
  let releases = 0;
  const lock = { isHeld: () => isHeld, release: async () => void releases++ };
  const liveness = { me: "me", isGone: () => false };
  const place = locationOf("s", { files: disk, root: "/root", sync: true, liveness, abandoned: new Set() });
  const log = new FileLog("s", { ...place, claim: async () => lock }, undefined);
  const entry = (id: string, parent: string | null) =>
    ({ kind: "message", id, parent, at: 1, message: { role: "user", content: id } }) as const;
  await log.append([entry("a", null)], { at: 1 });
  const written = disk.bytes(".jsonl");
  isHeld = false;
  for (const id of ["b", "c"])
    await expect(log.append([entry(id, "a")], { at: 1 })).rejects.toMatchObject({
      code: "JOURNAL_LOCKED",
      message: expect.stringContaining("stood still for so long that its lock has expired"),
    });
  expect(disk.bytes(".jsonl")).toEqual(written);
  await log.close();
  expect(releases).toBe(1);
});
