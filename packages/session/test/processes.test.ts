import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { FileSessionStore, SessionAgent } from "@ravi/session";
import { scriptedModel } from "@ravi/testing";
import { expect, it, onTestFinished } from "vitest";
import { processLiveness } from "../src/store/owner.ts";
import { folder } from "./support.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;
const PATIENCE = { timeout: LONG ? 900_000 : 60_000 };
const KILLS = LONG ? 500 : 3;

/** A process that writes as fast as it can, and says which entries were acknowledged. */
const WRITER = `
import { FileSessionStore } from "@ravi/session";
const log = await new FileSessionStore(process.argv[1]).open("s");
let last = log.heads.at(-1)?.id ?? null;
let n = log.heads.length;
process.stdout.write("open\\n");
for (;;) {
  const id = "e" + n++;
  const content = "x".repeat((n * 7919) % 20_000);
  await log.append([{ kind: "message", id, parent: last, at: n, message: { role: "user", content } }], { at: 1 });
  process.stdout.write(id + "\\n");
  last = id;
}
`;

function writer(
  root: string,
  within: readonly string[] = [],
): {
  child: ChildProcess;
  lines: string[];
  next(count: number): Promise<void>;
  err(): string;
} {
  const cwd = join(import.meta.dirname, "..");
  const program = ["--conditions=@ravi/source", "--input-type=module", "--eval", WRITER, root];
  const [command = "", ...args] = [...within, process.execPath, ...program];
  const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  let rest = "";
  let errors = "";
  let wake = (): void => {};
  child.on("exit", () => wake());
  child.stdout.on("data", (data: Buffer) => {
    const parts = (rest + data.toString()).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    wake();
  });
  child.stderr.on("data", (data: Buffer) => (errors += data.toString()));
  const next = async (count: number): Promise<void> => {
    while (lines.length < count && child.exitCode === null) {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      await promise;
    }
  };
  return { child, lines, next, err: () => errors };
}

it(
  "T7: a process that is killed while it writes loses at most the unfinished line, and its lock goes to the next",
  PATIENCE,
  async () => {
    const root = join(await folder(), "sessions");
    let kept = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const { child, lines, next } = writer(root);
      await next(2 + ((kill * 13) % 17));
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      const acknowledged = lines.filter((line) => line.startsWith("e")).length;
      const log = await new FileSessionStore(root).open("s");
      const ids = log.heads.map(({ id }) => id);
      // All that was acknowledged, and at most one more that was written when the word of it did not get out.
      expect(ids.length).toBeGreaterThanOrEqual(kept + acknowledged);
      expect(ids).toEqual(ids.map((_, at) => `e${at}`));
      for (const head of log.heads) expect(await log.read(head)).toMatchObject({ id: head.id });
      kept = ids.length;
      await log.close();
    }
    expect(kept).toBeGreaterThan(KILLS);
    expect(await readdir(join(root, "locks"))).toHaveLength(1);
  },
);

it("O19: of two processes on one session one is refused, with a typed error that names the other", async () => {
  const root = join(await folder(), "sessions");
  const { child, next, err } = writer(root);
  await next(3);
  expect(err()).toBe("");
  await expect(new FileSessionStore(root).open("s")).rejects.toMatchObject({
    code: "JOURNAL_LOCKED",
    sessionId: "s",
    owner: expect.stringContaining(`:${child.pid}:`),
  });
});

it("O19: of two agents of one process too, and the error says that it is this one", async () => {
  const root = join(await folder(), "sessions");
  const model = scriptedModel(() => "yes");
  const open = (): SessionAgent =>
    new SessionAgent({ model, store: new FileSessionStore(root), sessionId: "s", secrets: [] });
  const [one, two] = [open(), open()];
  await one.invoke("x");
  await expect(two.invoke("y")).rejects.toMatchObject({
    code: "JOURNAL_LOCKED",
    message: expect.stringContaining("in this process") as string,
  });
  await one.close();
  expect((await two.invoke("y")).output).toBe("yes");
  await two.close();
});

it("O19: who came second to a new session has it as soon as the first one has closed it", async () => {
  const root = join(await folder(), "sessions");
  const open = (answer: string): SessionAgent => {
    const model = scriptedModel(() => answer);
    return new SessionAgent({ model, store: new FileSessionStore(root), sessionId: "s", secrets: [] });
  };
  const [one, two] = [open("1"), open("2")];
  await two.open();
  await one.invoke("x");
  await expect(two.invoke("y")).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
  await one.close();
  expect((await two.invoke("y")).output).toBe("2");
  expect((await two.sessionManager.messages()).map(({ content }) => content)).toEqual(["x", "1", "y", "2"]);
  await two.close();
});

const APART = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const [unshare = "", ...apart] = APART;
// Only Linux has containers, and not every machine lets its users make them.
const mayUnshare = spawnSync(unshare, [...apart, "true"]).status === 0;

it.runIf(mayUnshare)(
  "O19: a process in a container with this one's host name keeps its session while it lives",
  PATIENCE,
  async () => {
    const root = join(await folder(), "sessions");
    const { next, err } = writer(root, APART);
    await next(3);
    expect(err()).toBe("");
    await expect(new FileSessionStore(root).open("s")).rejects.toMatchObject({ code: "JOURNAL_LOCKED" });
  },
);

/** A process that has used up its files, and says whether the one that holds a lock, which is itself, is gone. */
const STARVED = `
import { openSync } from "node:fs";
import { processLiveness } from "./src/store/owner.ts";
const { me } = processLiveness();
try {
  for (;;) openSync("/dev/null", "r");
} catch {}
process.stdout.write(String(processLiveness().isGone(me)));
`;

it("O19: a process that may open no more files takes nobody who lives for gone", PATIENCE, async () => {
  const program = [process.execPath, "--conditions=@ravi/source", "--input-type=module", "--eval", STARVED];
  const cwd = join(import.meta.dirname, "..");
  const starved = promisify(execFile)("sh", ["-c", 'ulimit -n 64; exec "$@"', "sh", ...program], { cwd });
  expect((await starved).stdout).toBe("false");
});

it.runIf(process.platform === "linux")(
  "O19: the lock of a process that has ended and that nobody has buried goes to the next",
  async () => {
    // The shell becomes a program that knows of no child, and answers when it has.
    const parent = spawn("sh", ["-c", "sleep 600 & echo $!; exec cat"]);
    onTestFinished(() => void parent.kill());
    const [said] = await once(parent.stdout, "data");
    const pid = Number(said);
    parent.stdin.write("?");
    await once(parent.stdout, "data");
    const { isGone, me } = processLiveness();
    const stat = await readFile(`/proc/${pid}/stat`, "latin1");
    const owner = me.replace(/\d+:\d+$/, `${pid}:${stat.split(" ")[21]}`);
    expect(isGone(owner)).toBe(false);

    // As long as it is still the shell, it may bury its child.
    await expect.poll(() => readFile(`/proc/${parent.pid}/comm`, "latin1")).toBe("cat\n");
    process.kill(pid, "SIGKILL");
    await expect.poll(() => readFile(`/proc/${pid}/stat`, "latin1")).toContain(") Z ");
    expect(isGone(owner)).toBe(true);
  },
);

it("O19: when many want a lock whose holder is gone, one gets it", async () => {
  const root = join(await folder(), "sessions");
  const dead = { me: "the dead", isGone: () => false };
  const log = await new FileSessionStore(root, { liveness: dead }).open("s");
  const entry = {
    kind: "message",
    id: "a",
    parent: null,
    at: 1,
    message: { role: "user", content: "x" },
  } as const;
  await log.append([entry], { at: 1 });
  const winners = [log];
  for (let round = 0; round < 20; round++) {
    const gone = round === 0 ? "the dead" : `winner of ${round - 1}`;
    const attempts = Array.from({ length: 8 }, () => {
      const liveness = { me: `winner of ${round}`, isGone: (owner: string) => owner === gone };
      return new FileSessionStore(root, { liveness }).open("s");
    });
    const outcomes = await Promise.allSettled(attempts);
    const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    expect(won).toHaveLength(1);
    winners.push(...won);
  }
  for (const winner of winners) await winner.close();
});
