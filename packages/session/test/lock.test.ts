import { expect, it } from "vitest";
import type { SessionFiles } from "@ravi/session";
import { claim } from "../src/store/lock.ts";
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

/** The disk, for one who looks at the notes and is then so slow that something happens before it writes its own. */
function slow(disk: FakeDisk, meanwhile: () => Promise<void>): SessionFiles {
  let isFirst = true;
  return {
    mkdir: () => disk.mkdir(),
    link: (existing, name) => disk.link(existing, name),
    unlink: (path) => disk.unlink(path),
    readdir: (path) => disk.readdir(path),
    async open(path, flags) {
      if (isFirst && path.includes("draft-")) {
        isFirst = false;
        await meanwhile();
      }
      return disk.open(path, flags);
    },
  };
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
