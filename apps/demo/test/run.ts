import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

const folder = join(import.meta.dirname, "..");

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Printed {
  readonly runId: string;
  readonly status: string;
  readonly output: string;
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
  readonly costUsd: number;
  readonly bill: { readonly calls: number; readonly costUsd: number } | null;
  readonly agents: readonly {
    readonly id: string;
    readonly parent: string | null;
    readonly priority: number;
    readonly status: string;
    readonly costUsd: number;
  }[];
  readonly events: Readonly<Record<"preempted" | "resumed" | "partial" | "denied", number>>;
  readonly inDoubt?: readonly string[];
  readonly stoppedBy?: { readonly dimension: string; readonly limit: number; readonly scope: string };
}

/** How a user starts the demo. */
export const FROM_SOURCE = ["--conditions=@ravi/source", "src/main.ts"];
/** The same program in fewer files, which starts faster; see scripts/bundle-programs.ts. */
const BUNDLED = ["dist/main.js"];

export interface DemoOptions {
  readonly onLine?: (line: string, kill: (signal: NodeJS.Signals) => void) => void;
  readonly env?: Readonly<Record<string, string>>;
  readonly program?: readonly string[];
}

/** Runs the demo as a user does: in a process of its own. */
export async function demo(
  args: readonly string[],
  { onLine, env, program = BUNDLED }: DemoOptions = {},
): Promise<Ran> {
  const child = spawn(process.execPath, ["--no-warnings", ...program, ...args], {
    cwd: folder,
    env: { ...process.env, INIT_CWD: undefined, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().split("\n")) onLine?.(line, (signal) => child.kill(signal));
  });
  const ended = Promise.withResolvers<Pick<Ran, "code" | "signal">>();
  child.once("error", ended.reject);
  child.once("close", (code, signal) => ended.resolve({ code, signal }));
  const [stdout, stderr, end] = await Promise.all([text(child.stdout), text(child.stderr), ended.promise]);
  return { ...end, stdout, stderr };
}

export async function demoJson(...args: string[]): Promise<Printed> {
  return printedBy(await demo(["--json", ...args]));
}

let ordinary: Promise<Ran> | undefined;

/** The run without any option, with which others are compared. It is the same every time, which a test checks, so it is made once. */
export function ordinaryRun(): Promise<Ran> {
  return (ordinary ??= demo(["--json"]));
}

export async function ordinaryJson(): Promise<Printed> {
  return printedBy(await ordinaryRun());
}

function printedBy({ stdout, stderr }: Ran): Printed {
  if (stdout === "") throw new Error(`the demo printed nothing: ${stderr}`);
  return JSON.parse(stdout) as Printed;
}

export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const made = await mkdtemp(join(tmpdir(), "ravi-demo-test-"));
  try {
    return await use(made);
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}
