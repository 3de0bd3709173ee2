import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Order, Said } from "../../../src/killed/program.ts";

/** `src/killed/program.ts`, bundled by scripts/bundle-programs.ts. */
const PROGRAM = join(import.meta.dirname, "../../../dist/killed.js");

/** The unit of `ulimit -f`. */
const BLOCK = 512;

interface End {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stderr: string;
}

export interface LifeOptions {
  /** The largest file that it may write, in bytes. Beyond that the disk is full. */
  readonly maxFile?: number | undefined;
  readonly hear: (said: Said, life: Life) => void;
}

/** A process that serves the runs of a folder. */
export class Life {
  readonly isCramped: boolean;
  readonly ended: Promise<End>;
  isReady = false;
  isEnded = false;
  private readonly child: ChildProcess;

  constructor(folder: string, order: Order, { maxFile, hear }: LifeOptions) {
    this.isCramped = maxFile !== undefined;
    const limit = maxFile === undefined ? "" : `ulimit -f ${Math.ceil(maxFile / BLOCK)};`;
    const program = [process.execPath, "--no-warnings", PROGRAM, folder, JSON.stringify(order)];
    const child = spawn("sh", ["-c", `${limit} exec "$@"`, "sh", ...program], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.isReady = true;
      hear(JSON.parse(line) as Said, this);
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    this.ended = once(child, "close").then(([code, signal]) => {
      this.isEnded = true;
      return { code: code as number | null, signal: signal as string | null, stderr };
    });
  }

  signal(signal: "SIGKILL" | "SIGTERM" | "SIGSTOP" | "SIGCONT"): void {
    this.child.kill(signal);
  }
}
