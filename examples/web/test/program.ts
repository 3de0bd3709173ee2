import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Client } from "./client.ts";

const MAIN = join(import.meta.dirname, "../src/main.ts");
/** The same program in fewer files, which starts faster; see scripts/bundle-programs.ts. */
const BUNDLED = join(import.meta.dirname, "../dist/main.js");

/** The server as a program. */
export const start = (...args: readonly string[]) => launch([BUNDLED, ...args]);

export const startFromSource = (...args: readonly string[]) =>
  launch(["--conditions=@ravi/source", MAIN, ...args]);

function launch(args: readonly string[]) {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
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
