import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Client } from "./client.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

/** The server as a program. */
export function start(...args: readonly string[]) {
  const child = spawn(process.execPath, ["--conditions=@ravi/source", MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let wake = (): void => {};
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => {
      output += data.toString();
      wake();
    });
  child.on("close", () => wake());
  return {
    output: () => output,
    async until(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        const found = pattern.exec(output);
        if (found !== null) return found;
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`it has ended, and said:\n${output}`);
        const { promise, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        await promise;
      }
    },
    async client(): Promise<Client> {
      const [url] = await this.until(/http:\/\/127\.0\.0\.1:\d+/);
      return new Client(url);
    },
    async end(signal?: NodeJS.Signals): Promise<number | null> {
      const closed = child.exitCode === null && child.signalCode === null ? once(child, "close") : undefined;
      if (signal !== undefined) child.kill(signal);
      await closed;
      return child.exitCode;
    },
  };
}
