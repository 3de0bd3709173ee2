import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const examples = globSync("examples/*/src/main.ts", { cwd: root }).filter((file) => !file.includes("/chat/"));

test.runIf(existsSync("/dev/full")).each(examples)(
  "%s is no success where what it says cannot be written",
  async (file) => {
    const command = `exec "$0" "$@" > /dev/full`;
    const args = file.includes("/web/") ? await ofItsOwn() : [];
    // With the packages as they are built, as whoever installs them has it, which takes two thirds of the time of their sources.
    const child = spawn("sh", ["-c", command, process.execPath, join(root, file), ...args], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    // A program that could not even be loaded would say so.
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  },
  60_000,
);

/** A server has by default a port that somebody else may have, and a folder in the user's home. */
async function ofItsOwn(): Promise<readonly string[]> {
  const dir = await mkdtemp(join(tmpdir(), "ravi-web-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return ["--port", "0", "--dir", dir];
}
