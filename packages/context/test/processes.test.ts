import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, statSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os, { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { textOf } from "@ravi/kernel";
import { FileHistory } from "@ravi/context";
import { expect, onTestFinished, test, vi } from "vitest";
import { lockFile } from "../src/history/file/lock.ts";
import { claimName, isClaim, isOwnerGone } from "../src/history/file/owner.ts";
import { say } from "./support/history-suite.ts";
import { keyOf } from "./support/keys.ts";
import { runs } from "./support/transcripts.ts";

vi.setConfig({ testTimeout: runs(120_000, 900_000) });

const WRITERS = 3;
const APPENDS = runs(20, 500);
const key = keyOf("s");

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "ravi-writers-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

/** A process that says "ready", begins when it hears something, and says of each append that it was confirmed. */
const WRITER = `
import { once } from "node:events";
import { FileHistory } from "@ravi/context";
const [directory, name, appends] = process.argv.slice(1);
const history = await FileHistory.open(directory);
console.log("ready");
await once(process.stdin, "data");
process.stdin.destroy();
const say = (content) => ({ role: "user", content });
for (let n = 0; n < Number(appends); n++) {
  const texts = [name + ":" + n + ":a", name + ":" + n + ":b" + "x".repeat((n * 7919) % 20000)];
  await history.append({ sessionId: "s", agentName: "lead" }, texts.map(say));
  console.log(n);
}
await history.close();
`;

/** A process that stops in the middle of its append, with half of it written. */
const STUCK = `
import { FileHistory } from "@ravi/context";
import { nodeFiles } from "./src/history/file/node-files.ts";
const files = {
  ...nodeFiles,
  open: async (path, flags, mode) => {
    const file = await nodeFiles.open(path, flags, mode);
    if (!path.endsWith(".jsonl")) return file;
    const write = async (bytes, offset, length) => {
      await file.write(bytes, offset, length >> 1);
      console.log("half");
      setInterval(() => {}, 60_000);
      return new Promise(() => {});
    };
    return { stat: () => file.stat(), readFile: () => file.readFile(), write, sync: () => file.sync(), close: () => file.close() };
  },
};
const history = await FileHistory.open(process.argv[1], { files });
await history.append({ sessionId: "s", agentName: "lead" }, [{ role: "user", content: "never confirmed" }]);
`;

interface Started {
  readonly child: ChildProcess;
  readonly lines: string[];
  /** Until it has said so many lines, or is no more. */
  readonly said: (count: number) => Promise<void>;
  readonly ended: Promise<unknown>;
  readonly errors: () => string;
  readonly go: () => void;
}

function start(program: string, ...args: readonly string[]): Started {
  return startIn([], program, ...args);
}

function startIn(container: readonly string[], program: string, ...args: readonly string[]): Started {
  const options = ["--conditions=@ravi/source", "--input-type=module", "--eval", program];
  const [command = "", ...rest] = [...container, process.execPath, ...options, ...args];
  const child = spawn(command, rest, { cwd: join(import.meta.dirname, "..") });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const reader = createInterface(child.stdout).on("line", (line) => lines.push(line));
  const ended = once(child, "close");
  const said = async (count: number): Promise<void> => {
    while (lines.length < count && child.exitCode === null && child.signalCode === null)
      await Promise.race([once(reader, "line"), ended]);
  };
  let errors = "";
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  return {
    child,
    lines,
    said,
    ended,
    errors: () => errors,
    go: () => void child.stdin.write("go"),
  };
}

const APART = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const [unshare = "", ...apart] = APART;
// Only Linux has containers, and not every machine lets its users make them.
const mayUnshare = spawnSync(unshare, [...apart, "true"]).status === 0;
const PLACES = mayUnshare
  ? [["", []] as const, [" in containers of their own", APART] as const]
  : [["", []] as const];

test.each(PLACES)(
  "R10: of processes%s that append to one history at the same moment nobody loses a message, and nothing is damaged",
  async (_where, container) => {
    const directory = await folder();
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      startIn(container, WRITER, directory, `w${n}`, `${APPENDS}`),
    );
    await Promise.all(writers.map(({ said }) => said(1)));
    for (const { go } of writers) go();
    await Promise.all(writers.map(({ ended }) => ended));
    expect(writers.map(({ errors }) => errors())).toEqual(writers.map(() => ""));

    const history = await FileHistory.open(directory);
    const texts = (await history.load(key)).messages.map(textOf);
    expect(texts).toHaveLength(WRITERS * APPENDS * 2);
    // An append stands together, and those of one process in their order.
    for (let at = 0; at < texts.length; at += 2)
      expect(texts[at + 1]?.startsWith(`${texts[at]?.slice(0, -1)}b`)).toBe(true);
    for (let n = 0; n < WRITERS; n++)
      expect(texts.filter((text) => text.startsWith(`w${n}:`) && text.endsWith(":a"))).toEqual(
        Array.from({ length: APPENDS }, (_, at) => `w${n}:${at}:a`),
      );
    expect(await readdir(directory)).toHaveLength(1);
  },
);

test("R10: a process that is killed in its append holds nobody up, and what it left is cut off", async () => {
  const directory = await folder();
  const history = await FileHistory.open(directory);
  await history.append(key, [say("before")]);
  const { child, said, ended, lines, errors } = start(STUCK, directory);
  await said(1);
  expect([lines, errors()]).toEqual([["half"], ""]);
  // It has the lock, and it is there for all to see.
  expect(await readdir(directory)).toHaveLength(2);
  const waiting = history.append(key, [say("meanwhile")]);
  child.kill("SIGKILL");
  await ended;
  await waiting;
  await history.append(key, [say("after")]);
  expect((await history.load(key)).messages).toEqual(["before", "meanwhile", "after"].map(say));
  expect(await readdir(directory)).toHaveLength(1);
});

test.runIf(process.platform === "linux")(
  "R10: the lock of a process that has ended and that nobody has buried goes to the next",
  async () => {
    // The shell becomes a program that knows of no child, and answers when it has.
    const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec cat"]);
    onTestFinished(() => void parent.kill());
    const [said] = await once(parent.stdout, "data");
    const pid = Number(said);
    parent.stdin.write("?");
    await once(parent.stdout, "data");
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    const claim = claimName("one").replace(/^\d+\.\d+/, `${pid}.${stat.split(" ")[21]}`);
    expect(isOwnerGone(claim)).toBe(false);

    process.kill(pid, "SIGKILL");
    await expect.poll(() => readFile(`/proc/${pid}/stat`, "latin1")).toContain(") Z ");
    expect(isOwnerGone(claim)).toBe(true);
  },
);

test("R10: writers that are killed at any moment lose nothing that was confirmed", async () => {
  const directory = await folder();
  const confirmed: string[] = [];
  for (let round = 0; round < runs(3, 100); round++) {
    const writers = Array.from({ length: WRITERS }, (_, n) =>
      start(WRITER, directory, `w${round}.${n}`, "1000000"),
    );
    await Promise.all(writers.map(({ said }) => said(1)));
    for (const { go } of writers) go();
    // When the first has got so far, all are killed wherever they are.
    await Promise.race(writers.map(({ said }) => said(4 + round)));
    for (const { child } of writers) child.kill("SIGKILL");
    await Promise.all(writers.map(({ ended }) => ended));
    for (const [n, { lines }] of writers.entries())
      for (const line of lines) if (line !== "ready") confirmed.push(`w${round}.${n}:${line}:a`);
  }
  const history = await FileHistory.open(directory);
  await history.append(key, [say("after")]);
  const texts = new Set((await history.load(key)).messages.map(textOf));
  expect(confirmed.filter((text) => !texts.has(text))).toEqual([]);
  expect(confirmed.length).toBeGreaterThan(0);
  expect(await readdir(directory)).toHaveLength(1);
});

test("R10: who waits for the lock puts nothing into its folder, so that of many somebody gets it", async () => {
  const path = join(await folder(), "h.jsonl");
  const holder = await lockFile(path);
  const waiting = lockFile(path);
  const seen = new Set<string>();
  for (let look = 0; look < 2_000; look++) for (const name of await readdir(`${path}.lock`)) seen.add(name);
  await holder.release();
  await (await waiting).release();
  // The holder's, and that by which the other found out that it has to wait.
  expect(seen.size).toBeLessThanOrEqual(2);
});

test(
  "R10: who waits for the lock gets it although a test runner has replaced the timers",
  { timeout: 10_000 },
  async () => {
    const path = join(await folder(), "h.jsonl");
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const holder = await lockFile(path);
    const waiting = lockFile(path);
    // Meanwhile it finds out that it has to wait.
    for (let look = 0; look < 200; look++) await readdir(`${path}.lock`);
    await holder.release();
    const lock = await waiting;
    expect(await readdir(`${path}.lock`)).toHaveLength(1);
    await lock.release();
  },
);

test("R10: who waits for the lock gives up although a test runner has stopped the time", async () => {
  const path = join(await folder(), "h.jsonl");
  // Each look at the clock is seconds later, so that nobody has to wait for them.
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 4_000));
  onTestFinished(() => void vi.restoreAllMocks());
  vi.resetModules();
  // What is loaded now must not stay: the files of one worker share their modules.
  onTestFinished(() => void vi.resetModules());
  const { lockFile: lockAnew } = await import("../src/history/file/lock.ts");
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const holder = await lockAnew(path);
  const expected = `process ${process.pid} on ${hostname()} has held its lock for 10 s (if that process no longer exists, delete ${path}.lock)`;
  await expect(lockAnew(path)).rejects.toThrow(expected);
  await holder.release();
});

/** A lock that a process of another machine holds, and a lock of one's own for which each look at the clock is seconds later. */
async function elsewhere(onLook: (claim: string) => void = () => {}, where = "elsewhere~table") {
  const path = join(await folder(), "h.jsonl");
  const claim = join(`${path}.lock`, `7.100.some-id@${where}`);
  await mkdir(`${path}.lock`);
  await writeFile(claim, "");
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => {
    onLook(claim);
    return (now += 4_000);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  vi.resetModules();
  // What is loaded now must not stay: the files of one worker share their modules.
  onTestFinished(() => void vi.resetModules());
  const { lockFile: lockAnew } = await import("../src/history/file/lock.ts");
  return { path, claim, lockAnew };
}

test("R10: the lock of a process that nobody here can see passes on if it is not renewed for 10 s", async () => {
  const { path, claim, lockAnew } = await elsewhere();
  const lock = await lockAnew(path);
  expect(existsSync(claim)).toBe(false);
  await lock.release();
});

test("R10: the lock of a process that nobody here can see stays its own as long as it is renewed", async () => {
  const { path, claim, lockAnew } = await elsewhere((held) => appendFileSync(held, "\n"));
  await expect(lockAnew(path)).rejects.toThrow("process 7 on elsewhere has held its lock for 10 s");
  expect(existsSync(claim)).toBe(true);
});

test("R10: the lock of a dead process passes on also where machines have no name, as in Deno without a permission", async () => {
  const { path, claim, lockAnew } = await elsewhere(() => {}, "~unknown");
  vi.spyOn(os, "hostname").mockImplementation(() => {
    throw new Error("Requires sys access to hostname");
  });
  const lock = await lockAnew(path);
  expect(existsSync(claim)).toBe(false);
  await lock.release();
});

test("R10: a lock is renewed while it is held, and not after that", async () => {
  const path = join(await folder(), "h.jsonl");
  const renewals = new Set<() => void>();
  vi.spyOn(globalThis, "setInterval").mockImplementation(((renew: () => void) => {
    renewals.add(renew);
    // As in jsdom and Deno.
    return 7;
  }) as never);
  const ended = vi.spyOn(globalThis, "clearInterval").mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  vi.resetModules();
  // What is loaded now must not stay: the files of one worker share their modules.
  onTestFinished(() => void vi.resetModules());
  const { lockFile: lockAnew } = await import("../src/history/file/lock.ts");
  const lock = await lockAnew(path);
  const [claim = ""] = await readdir(`${path}.lock`);
  for (const renew of renewals) renew();
  await expect.poll(() => statSync(join(`${path}.lock`, claim)).size).toBe(1);
  await lock.release();
  expect(ended.mock.calls).toEqual([[7]]);
  for (const renew of renewals) renew();
  expect(existsSync(`${path}.lock`)).toBe(false);
});

test.runIf(mayUnshare)(
  "R10: a process in a container with this one's host name keeps its lock while it lives",
  async () => {
    const directory = await folder();
    const { said, lines, errors } = startIn(APART, STUCK, directory);
    await said(1);
    expect([lines, errors()]).toEqual([["half"], ""]);
    const names = await readdir(directory, { recursive: true });
    const claims = names.map((name) => basename(name)).filter((name) => isClaim(name));
    expect(claims.map((claim) => isOwnerGone(claim))).toEqual([false]);
  },
);

test("T12: other users see nothing of who holds a lock", async () => {
  const path = join(await folder(), "h.jsonl");
  const holder = await lockFile(path);
  const [claim = ""] = await readdir(`${path}.lock`);
  const modes = [`${path}.lock`, join(`${path}.lock`, claim)].map((each) => statSync(each).mode & 0o777);
  expect(modes).toEqual([0o700, 0o600]);
  await holder.release();
});

test("R10: no two claims have the same name where a test runner has replaced the globals", async () => {
  const path = join(await folder(), "h.jsonl");
  vi.stubGlobal("crypto", { randomUUID: () => "always-the-same" });
  onTestFinished(() => void vi.unstubAllGlobals());
  const holder = await lockFile(path);
  const [first] = await readdir(`${path}.lock`);
  await holder.release();
  const next = await lockFile(path);
  expect(await readdir(`${path}.lock`)).not.toContain(first);
  await next.release();
});
