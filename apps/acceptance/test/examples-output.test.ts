import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const examples = globSync("examples/*/src/main.ts", { cwd: root }).filter((file) => !file.includes("/chat/"));

test.runIf(existsSync("/dev/full")).each(examples)(
  "%s is no success where what it says cannot be written",
  async (file) => {
    const command = `exec "$0" --conditions=@ravi/source "$1" > /dev/full`;
    const child = spawn("sh", ["-c", command, process.execPath, join(root, file)], { stdio: "ignore" });
    expect((await once(child, "close"))[0]).toBe(1);
  },
  60_000,
);
