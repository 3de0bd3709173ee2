import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const examples = globSync("examples/*/src/main.ts", { cwd: root }).filter((file) => !file.includes("/chat/"));

test.runIf(existsSync("/dev/full")).each(examples)(
  "%s is no success where what it says cannot be written",
  async (file) => {
    const command = `exec "$0" "$1" > /dev/full`;
    // With the packages as they are built, as whoever installs them has it, which takes two thirds of the time of their sources.
    const child = spawn("sh", ["-c", command, process.execPath, join(root, file)], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    // A program that could not even be loaded would say so.
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  },
  60_000,
);
