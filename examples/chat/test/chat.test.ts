import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { loopbackOpenAI } from "@ravi/testing";
import { expect, onTestFinished, test } from "vitest";

const MAIN = join(import.meta.dirname, "../src/main.ts");
/** The same program in fewer files, which starts faster; see scripts/bundle-programs.ts. */
const BUNDLED = join(import.meta.dirname, "../dist/main.js");

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ravi-chat-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** The chat as a program, driven through its standard input. */
function start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [BUNDLED, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1", ...env },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let wake = (): void => {};
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => {
      output += data.toString();
      wake();
    });
  child.on("exit", () => wake());
  return {
    say: (line: string) => child.stdin.write(`${line}\n`),
    interrupt: () => child.kill("SIGINT"),
    terminate: () => child.kill("SIGTERM"),
    /** Nobody reads any more, as after `chat | head`. */
    deafen: () => child.stdout.destroy(),
    output: () => output,
    async until(pattern: RegExp): Promise<void> {
      while (!pattern.test(output)) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`it has ended, and said:\n${output}`);
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    },
    async end(): Promise<number | null> {
      child.stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      return child.exitCode;
    },
  };
}

test("a whole conversation, piped: streaming, a tool, the tree, a fork, the cost, compaction and a new session", async () => {
  const dir = await folder();
  const program = start(["--dir", dir, "--session", "tea"]);
  const lines = [
    "I like tea",
    "what time is it",
    "/tree",
    "/fork 2",
    "and now milk",
    "/tree",
    "count to 300",
    "/compact",
    "/cost",
    "/model",
    "/fork 99",
    "/nonsense",
    "/new",
    "/help",
  ];
  for (const line of lines) program.say(line);
  expect(await program.end()).toBe(0);
  const output = program.output();
  expect(output).toContain("No real model: a script on this machine answers");
  expect(output).toContain('You said "I like tea". It is the first thing that you said.');
  expect(output).toMatch(/\[clock \{\}\]\nIt is \d\d:\d\d:\d\d\./);
  expect(output).toMatch(/\| 1\. user: I like tea\n\| 2\. assistant: You said/);
  expect(output).toContain('You said "and now milk". Before that you said "I like tea".');
  expect(output).toMatch(/\n {2}3\. user: what time is it/);
  expect(output).toMatch(/\* {3}\d+\. assistant: You said "and now milk"/);
  expect(output).toMatch(/\[compacted: about \d+ tokens before, \d+ now\]\ndone/);
  expect(output).not.toContain("They talked");
  expect(output).toMatch(/stand-in: \d+ tokens in, \d+ out, \$0\.000\d\d\d/);
  expect(output).toContain("model: openai/stand-in");
  expect(output).toContain('/fork is "99"; expected the number of an entry in /tree');
  expect(output).toContain("unknown command /nonsense");
  expect(output).toMatch(/new session: [0-9a-f-]{36}/);
  expect(output).not.toContain("\u001b");

  const again = start(["--dir", dir, "--session", "tea"]);
  again.say("who am I?");
  expect(await again.end()).toBe(0);
  expect(again.output()).toContain('Before that you said "count to 300".');
});

test("Ctrl-C in the middle of a turn ends it and keeps the session, which goes on", async () => {
  const dir = await folder();
  const program = start(["--dir", dir, "--session", "s"]);
  program.say("count to 5000");
  await program.until(/1 2 3 4 5/);
  program.interrupt();
  await program.until(/\[stopped; press Ctrl-C again to leave\]/);
  program.say("are you there?");
  await program.until(/You said "are you there\?". Before that you said "count to 5000"\./);
  program.say("/quit");
  expect(await program.end()).toBe(0);
  expect(program.output()).not.toContain("5000 ");
});

test("Ctrl-C twice leaves, and the session is there for the next", async () => {
  const dir = await folder();
  const program = start(["--dir", dir, "--session", "s"]);
  program.say("hello");
  await program.until(/the first thing that you said\.\n/);
  program.interrupt();
  await program.until(/\[press Ctrl-C again to leave\]/);
  program.interrupt();
  expect(await program.end()).toBe(0);
  const next = start(["--dir", dir, "--session", "s"]);
  next.say("again");
  expect(await next.end()).toBe(0);
  expect(next.output()).toContain('Before that you said "hello".');
});

test("what is wrong is said plainly", async () => {
  const dir = await folder();
  const first = start(["--dir", dir, "--session", "s"]);
  first.say("hello");
  await first.until(/the first thing that you said\.\n/);
  const second = start(["--dir", dir, "--session", "s"]);
  expect(await second.end()).toBe(1);
  expect(second.output()).toMatch(/^chat: session s is open for writing by process:/);
  const third = start(["--dir", dir, "--model", "nobody:x"]);
  expect(await third.end()).toBe(1);
  expect(third.output()).toContain("openai:NAME or anthropic:NAME");
  expect(await first.end()).toBe(0);
});

test("Ctrl-C twice leaves also when more was piped in: what waits is not begun", async () => {
  const program = start(["--dir", await folder()]);
  for (let n = 0; n < 5; n++) program.say("count to 9000");
  await program.until(/1 2 3/);
  program.interrupt();
  await program.until(/\[stopped; press Ctrl-C again to leave\]/);
  program.interrupt();
  expect(await program.end()).toBe(0);
  expect(program.output().match(/1 2 3/g)?.length).toBeLessThan(3);
});

test("SIGTERM in the middle of a turn ends it, and leaves the session for the next, without a lock", async () => {
  const dir = await folder();
  const program = start(["--dir", dir, "--session", "s"]);
  program.say("count to 9000");
  await program.until(/1 2 3/);
  program.terminate();
  expect(await program.end()).toBe(143);
  const next = start(["--dir", dir, "--session", "s"]);
  next.say("again");
  expect(await next.end()).toBe(0);
  expect(next.output()).toContain('Before that you said "count to 9000".');
});

test("when nobody reads any more it leaves quietly, and keeps what was said", async () => {
  const dir = await folder();
  const program = start(["--dir", dir, "--session", "s"]);
  program.say("count to 9000");
  await program.until(/1 2 3/);
  program.deafen();
  expect(await program.end()).toBe(0);
  expect(program.output()).not.toMatch(/EPIPE|Error/);
  const next = start(["--dir", dir, "--session", "s"]);
  for (const line of ["/fork 0", "/fork x", "/model nobody", "/tree"]) next.say(line);
  expect(await next.end()).toBe(0);
  expect(next.output()).toContain('/fork is "0"; expected the number of an entry in /tree');
  expect(next.output()).toContain('/fork is "x"; expected the number of an entry in /tree');
  expect(next.output()).toContain('model is "nobody"; expected openai:NAME or anthropic:NAME');
  expect(next.output()).toContain("* 1. user: count to 9000");
});

test("an answer that fails is said, and by the exit code where nobody reads along", async () => {
  await using server = await loopbackOpenAI({ script: () => ({ fault: { type: "status", status: 401 } }) });
  const program = start(["--dir", await folder(), "--model", "openai:small", "--base-url", server.url], {
    OPENAI_API_KEY: "sk-wrong",
  });
  program.say("hello");
  expect(await program.end()).toBe(1);
  expect(program.output()).toMatch(/^error: openai\/small: 401/m);
});

test.runIf(existsSync("/dev/full"))("a full disk is said, and is no success", async () => {
  const command = `echo hello | "$0" --conditions=@ravi/source "$1" --dir "$2" > /dev/full`;
  const child = spawn("sh", ["-c", command, process.execPath, MAIN, await folder()], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(stderr).toMatch(/^chat: cannot write to standard output any more \(ENOSPC.*\n$/);
  expect(code).toBe(1);
});

test("--help and wrong options", async () => {
  const help = start(["--help"]);
  expect(await help.end()).toBe(0);
  expect(help.output()).toContain("--session ID");
  const wrong = start(["--sesion", "x"]);
  expect(await wrong.end()).toBe(1);
  expect(wrong.output()).toMatch(/^chat: Unknown option '--sesion'[^\n]*\n.*--help/);
  expect(wrong.output()).not.toContain("    at ");
});

test("a relative --dir is in the folder where the command was typed, also below pnpm", async () => {
  const typed = await folder();
  const program = start(["--dir", "talks"], { INIT_CWD: typed });
  program.say("hello");
  expect(await program.end()).toBe(0);
  expect(await readdir(typed)).toEqual(["talks"]);
  const unnamed = start(["--dir", ""]);
  expect(await unnamed.end()).toBe(1);
  expect(unnamed.output()).toContain("--dir needs the path of a folder");
});

test("--base-url without --model is refused: nobody would be asked there", async () => {
  const program = start(["--base-url", "http://127.0.0.1:1/v1"]);
  expect(await program.end()).toBe(1);
  expect(program.output()).toContain("--base-url needs --model as well");
});

test("without a home it asks for a folder, and writes none into the one it was started in", async () => {
  const program = start([], { HOME: "" });
  expect(await program.end()).toBe(1);
  expect(program.output()).toContain(
    "HOME is empty, so there is no default folder for sessions: set one with --dir",
  );
  const help = start(["--help"], { HOME: "" });
  expect(await help.end()).toBe(0);
});
