import type { ChildProcessWithoutNullStreams } from "node:child_process";
import type * as Processes from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { TimerHandle } from "@ravi/kernel";
import { platformModules, type TimerClock } from "@ravi/kernel/loop";
import { LIMITS } from "../limits.ts";
import { type FloodGate, TOO_LONG } from "../open/flood-gate.ts";
import { Lines } from "./lines.ts";
import { readMessage } from "./read-message.ts";

// Only types of Node are imported: a bundler for browsers would refuse the whole package.
const modules = platformModules<{ readonly "node:child_process": typeof Processes }>();

/** Throws an `InvalidValueError` where no process can be started, such as in a browser. */
export function checkProcesses(): void {
  modules.get("node:child_process");
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly cwd: string | undefined;
  readonly clock: TimerClock;
  readonly gate: FloodGate;
  /** Removes secrets from the last words of the server. */
  readonly clean: (text: string) => string;
  /** Told once why the connection is lost, before `onclose`. */
  readonly onLost: (reason: string) => void;
}

/** How long a server is asked to end before it is made to. */
const GRACE_MS = 2_000;
/** How long output may be held open by others after the process has ended. */
const LAST_OUTPUT_MS = 1_000;
/** How long a process that has closed its input or output may take to end. */
const LAST_BREATH_MS = 1_000;
const STDERR_CHARS = 1_000;
/** More is kept than is shown: half of a secret would not be recognised. */
const KEPT_STDERR_CHARS = 20_000;

/**
 * A server in a process of its own, without a shell. The client's own transport has no limit on how much a server writes, does not wait
 * until it has really ended, and leaves the processes behind that the server has started (`npx` starts two). This one is the leader of a
 * group, which ends as a whole.
 */
export class ChildTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport["onmessage"];
  private readonly options: ChildOptions;
  private readonly lines = new Lines();
  private unread: string[] = [];
  private readonly exit = Promise.withResolvers<void>();
  private child: ChildProcessWithoutNullStreams | undefined;
  private isOver = false;
  private hungUp: TimerHandle | undefined;
  private stderr = "";

  constructor(options: ChildOptions) {
    this.options = options;
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.options;
    const { spawn } = modules.get("node:child_process");
    const settings = {
      env,
      shell: false,
      windowsHide: true,
      detached: hasGroups(),
      ...(cwd !== undefined && { cwd }),
    };
    const child = spawn(command, args, { ...settings, stdio: "pipe" });
    const started = Promise.withResolvers<void>();
    child.once("spawn", started.resolve);
    child.once("error", (error) => {
      started.reject(error);
      // Without a process there is no exit.
      if (child.pid === undefined)
        this.end(`it could not be started: ${error.message}${inFolder(error, cwd)}`);
    });
    child.stdin.on("error", () => this.expectEnd("it has closed its input"));
    child.stdout.on("error", ignore).on("data", (bytes: Uint8Array) => this.read(bytes));
    child.stdout.once("end", () => this.expectEnd("it has closed its output"));
    child.stderr.on("error", ignore).on("data", (bytes: Uint8Array) => this.note(bytes));
    child.once("exit", (code, signal) => this.exited(code, signal));
    this.child = child;
    await started.promise;
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.child?.stdin;
    if (stdin === undefined || this.isOver) throw new Error("Not connected");
    if (stdin.writableLength > LIMITS.unreadBytes) throw new Error("it does not read what it is sent");
    stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** As the protocol asks: the end of its input, then a signal, then the end. Returns when the process is gone. */
  async close(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined) return;
    this.over();
    child.stdin.end();
    if (await this.exitsWithin(GRACE_MS)) return;
    this.kill("SIGTERM");
    if (await this.exitsWithin(GRACE_MS)) return;
    this.kill("SIGKILL");
    if (await this.exitsWithin(GRACE_MS)) return;
    // One of another user, such as `sudo` starts, may not be ended. This process need not stay for it.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
    child.unref();
  }

  private read(bytes: Uint8Array): void {
    if (this.isOver) return;
    const lines = this.lines.push(bytes);
    const flood = this.options.gate.take({ bytes: bytes.length, messages: lines?.length ?? 0 });
    if (lines === undefined || flood !== undefined) return this.break(flood ?? TOO_LONG);
    this.unread.push(...lines);
    if (this.unread.length === lines.length) void this.deliver();
  }

  /** One after the other: the client forgets who waits for progress as soon as it sees the answer, and looks at progress later. */
  private async deliver(): Promise<void> {
    for (let at = 0; at < this.unread.length && !this.isOver; at++) {
      const message = readMessage(this.unread[at] ?? "");
      if (message === null) continue;
      if (message === "broken") return this.break("it sent a message that is not valid");
      try {
        this.onmessage?.(message);
      } catch (error) {
        this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      }
      await Promise.resolve();
    }
    this.unread = [];
  }

  /** What it says at its end says mostly why it has ended. */
  private note(bytes: Uint8Array): void {
    const text = new TextDecoder().decode(bytes.subarray(-4 * KEPT_STDERR_CHARS));
    this.stderr = `${this.stderr}${text}`.slice(-KEPT_STDERR_CHARS);
  }

  private break(reason: string): void {
    this.over(reason);
    this.kill("SIGKILL");
  }

  /** Mostly the process ends right away, and that says why. One that lives on hears or says nothing more, so it is of no use. */
  private expectEnd(reason: string): void {
    const { child, hungUp, isOver } = this;
    if (hungUp !== undefined || isOver || child?.exitCode !== null || child.signalCode !== null) return;
    this.hungUp = this.options.clock.setTimer(() => this.break(reason), LAST_BREATH_MS);
  }

  private exited(code: number | null, signal: string | null): void {
    this.hungUp?.cancel();
    // What it has started would live on, and hold its output open.
    this.kill("SIGKILL");
    const { child } = this;
    const timer = this.options.clock.setTimer(() => {
      child?.stdout.destroy();
      child?.stderr.destroy();
    }, LAST_OUTPUT_MS);
    child?.once("close", () => {
      timer.cancel();
      const how = signal === null ? `with code ${code}` : `by ${signal}`;
      const said = this.options.clean(this.stderr).trim().slice(-STDERR_CHARS);
      this.end(`its process ended ${how}${said === "" ? "" : `; it said last: ${said}`}`);
    });
  }

  private end(reason: string): void {
    this.over(reason);
    this.exit.resolve();
  }

  /** Whoever waits for an answer is told at once; the process may take longer to end. Without a reason it was closed from here. */
  private over(reason?: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.hungUp?.cancel();
    if (reason !== undefined) this.options.onLost(reason);
    this.onclose?.();
  }

  private async exitsWithin(delayMs: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = this.options.clock.setTimer(() => late.resolve(false), delayMs);
    try {
      return await Promise.race([this.exit.promise.then(() => true), late.promise]);
    } finally {
      timer.cancel();
    }
  }

  private kill(signal: "SIGTERM" | "SIGKILL"): void {
    const { child } = this;
    if (child?.pid === undefined) return;
    try {
      if (hasGroups()) process.kill(-child.pid, signal);
      else child.kill(signal);
    } catch {
      // They are all gone already.
    }
  }
}

/** The platform names the program also where it is the folder that is missing. */
function inFolder(error: Error, cwd: string | undefined): string {
  const isMissing = "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
  return isMissing && cwd !== undefined ? ` (the program or its cwd ${cwd} is missing)` : "";
}

function hasGroups(): boolean {
  return process.platform !== "win32";
}

function ignore(): void {
  // The end of the process says what happened.
}
