import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { RestateServer } from "./server.ts";

export interface WorkerOptions {
  readonly server: RestateServer;
  readonly model: string;
  readonly key: string;
  readonly hold?: string | undefined;
}

/** A worker in a process of its own, so that a test can kill it. */
export class WorkerProcess {
  private readonly child: ChildProcess;
  private said = "";
  private heard: (() => void)[] = [];

  private constructor(child: ChildProcess) {
    this.child = child;
    const listen = (data: Buffer): void => {
      this.said += data.toString();
      for (const tell of this.heard.splice(0)) tell();
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
    // Wakes up `says`, which then throws because the worker has ended.
    child.once("close", () => listen(Buffer.of()));
  }

  /** Starts the process and waits until the worker listens. */
  static async start({ server, model, key, hold }: WorkerOptions): Promise<WorkerProcess> {
    const { ingress, admin } = server;
    const args = { ingress, admin, port: "0", model, key, ...(hold !== undefined && { hold }) };
    const worker = new WorkerProcess(
      run(
        "worker",
        Object.entries(args).map(([name, value]) => `--${name}=${value}`),
      ),
    );
    await worker.says("listening on");
    return worker;
  }

  /** Waits until the worker has printed `text`. Throws if the worker ends first. */
  async says(text: string): Promise<void> {
    while (!this.said.includes(text)) {
      if (this.child.exitCode !== null) throw new Error(`the worker has ended:\n${this.said}`);
      await new Promise<void>((resolve) => this.heard.push(resolve));
    }
  }

  get port(): number {
    return Number(/listening on (\d+)/.exec(this.said)?.[1]);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Kills the process (SIGKILL) and waits until it has ended. */
  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const over = once(this.child, "exit");
    this.child.kill("SIGKILL");
    await over;
  }
}

/** Starts a program of this folder, bundled by scripts/bundle-programs.ts. */
export function run(program: "worker" | "cancel", args: readonly string[]): ChildProcess {
  const flags = ["--no-warnings", join(import.meta.dirname, "../dist", `${program}.js`)];
  return spawn(process.execPath, [...flags, ...args], { stdio: ["ignore", "pipe", "pipe"] });
}
