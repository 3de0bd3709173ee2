import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeFolders } from "@ravi/kernel/loop";

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** A disk with those folders, that creates no others below `closed`. */
function fakeDisk(known: readonly string[], closed?: string) {
  const folders = new Set(known);
  const made: string[] = [];
  const disk = {
    mkdirSync(at: string): void {
      if (folders.has(at)) throw failure("EEXIST");
      const above = path.posix.dirname(at);
      if (above === closed || !folders.has(above)) throw failure("ENOENT");
      folders.add(at);
      made.push(at);
    },
    statSync: (at: string) => (folders.has(at) ? { isDirectory: () => true } : undefined),
  };
  return { disk, made };
}

test("a folder is created with those above it, and the first of them is named", () => {
  const { disk, made } = fakeDisk(["/", "/a"]);
  expect(makeFolders("/a/b/c/d", disk, path.posix)).toBe("/a/b");
  expect(made).toEqual(["/a/b", "/a/b/c", "/a/b/c/d"]);
  expect(makeFolders("/a/b/c/d", disk, path.posix)).toBeUndefined();
  expect(makeFolders("/a/b/e", disk, path.posix)).toBe("/a/b/e");
});

test.each(["/proc/x", "/proc/x/y/z"])(
  "where none can be created, as in /proc, that is an error (%s)",
  (at) => {
    const { disk } = fakeDisk(["/", "/proc"], "/proc");
    expect(() => makeFolders(at, disk, path.posix)).toThrow("ENOENT");
  },
);

test("a drive that does not exist is an error", () => {
  const { disk } = fakeDisk([]);
  expect(() => makeFolders("D:\\a\\b", disk, path.win32)).toThrow("ENOENT");
});

test("a folder that somebody else creates meanwhile is there", () => {
  const { disk } = fakeDisk(["/"]);
  const racing = {
    ...disk,
    mkdirSync(at: string): void {
      disk.mkdirSync(at);
      throw failure("EEXIST");
    },
  };
  expect(makeFolders("/a/b", racing, path.posix)).toBeUndefined();
  expect(disk.statSync("/a/b")).toBeDefined();
});

test("on a real disk it is for its owner only, and a file in the way is an error", () => {
  const root = fs.mkdtempSync(path.join(tmpdir(), "ravi-folders-"));
  onTestFinished(() => fs.rmSync(root, { recursive: true }));
  const folder = path.join(root, "a", "b");
  expect(makeFolders(folder, fs, path)).toBe(path.join(root, "a"));
  expect(fs.statSync(folder).isDirectory()).toBe(true);
  if (process.platform !== "win32") expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
  const file = path.join(root, "file");
  fs.writeFileSync(file, "");
  expect(() => makeFolders(file, fs, path)).toThrow("EEXIST");
  expect(() => makeFolders(path.join(file, "below"), fs, path)).toThrow("ENOTDIR");
});
