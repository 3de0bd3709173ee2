import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

export interface Running {
  readonly child: ChildProcess;
  readonly lines: string[];
  /** Resolves with the number of lines once there are that many, or when it has ended. */
  heard(count: number): Promise<number>;
  /** Writes a line to its stdin. */
  say(line: string): void;
  /** Closes its stdin. */
  hush(): void;
  kill(): void;
  readonly ended: Promise<{ code: number | null; signal: string | null; stderr: string }>;
}

const PROGRAMS = join(import.meta.dirname, "../../../node_modules/.cache/programs");

/** Starts one of the programs beside this file, as scripts/bundle-programs.ts has bundled it, in a process of its own. */
export function start(program: string, args: readonly string[], wrap: readonly string[] = []): Running {
  const file = join(PROGRAMS, program.replace(/\.ts$/, ".js"));
  const command = [...wrap, process.execPath, "--no-warnings", file, ...args];
  const child = spawn(command[0] ?? "", command.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const each of waiting) each();
  };
  createInterface({ input: child.stdout }).on("line", (line) => {
    lines.push(line);
    tell();
  });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  let done = false;
  const ended = once(child, "close").then(([code, signal]) => {
    done = true;
    tell();
    return { code: code as number | null, signal: signal as string | null, stderr };
  });
  return {
    child,
    lines,
    ended,
    say: (line) => void child.stdin.write(`${line}\n`),
    hush: () => void child.stdin.end(),
    kill: () => void child.kill("SIGKILL"),
    heard: (count) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (lines.length < count && !done) return;
          waiting.delete(look);
          resolve(lines.length);
        };
        waiting.add(look);
        look();
      }),
  };
}
