import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

const DEMO = join(import.meta.dirname, "../../demo");

/**
 * The tests wait for what the demo says and for its end, which its own deadline of ten minutes brings about at the latest. On a busy machine
 * its processes take a minute to load. So this is only for a process that hangs.
 */
const HANGS = { timeout: 900_000 } as const;

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Printed {
  readonly runId: string;
  readonly status: string;
  readonly output: string;
  readonly agents: readonly object[];
  readonly bill: object;
  readonly inDoubt?: readonly string[];
}

/** Runs the demo as a user does. `onLine` sees each line of output and may answer it with a signal. */
async function demo(args: readonly string[], onLine?: (line: string) => NodeJS.Signals | void): Promise<Ran> {
  const flags = ["--conditions=@ravi/source", "--no-warnings", "src/main.ts"];
  const child = spawn(process.execPath, [...flags, ...args], {
    cwd: DEMO,
    env: { ...process.env, INIT_CWD: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().split("\n")) {
      const signal = onLine?.(line);
      if (signal !== undefined) child.kill(signal);
    }
  });
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), promise]);
  return { code, stdout, stderr };
}

/** Processes that still run and were started with that folder: the server and its keeper. */
async function leftIn(folder: string): Promise<string[]> {
  const listing = spawn("ps", ["-A", "-o", "command="], { stdio: ["ignore", "pipe", "inherit"] });
  return (await text(listing.stdout)).split("\n").filter((line) => line.includes(join(folder, "restate")));
}

/** The result on the local engine, computed once for all tests. */
let known: Promise<Ran> | undefined;
const inOneProcess = (): Promise<Ran> => (known ??= demo(["--json"]));

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "ravi-demo-restate-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  }
}

const onFirst = (said: string, signal: NodeJS.Signals) => {
  let isSent = false;
  return (line: string): NodeJS.Signals | void => {
    if (isSent || !line.includes(said)) return undefined;
    isSent = true;
    return signal;
  };
};

test(
  "R24: the demo on Restate gives the report, the tree and the bill that it gives in one process, and leaves nothing running",
  HANGS,
  async () => {
    await inFolder(async (folder) => {
      const restate = ["--json", "--engine", "restate", "--journal", folder];
      const [here, there] = [await inOneProcess(), await demo(restate)];
      expect([there.code, there.stderr]).toEqual([0, ""]);
      const { runId: _, ...one } = JSON.parse(here.stdout) as { runId: string };
      const { runId: __, ...other } = JSON.parse(there.stdout) as { runId: string };
      expect(other).toEqual(one);
      expect(other).toMatchObject({ status: "completed", events: { preempted: 1, resumed: 1, partial: 1 } });
      expect(await leftIn(folder)).toEqual([]);
    });
  },
);

test(
  "R24: Ctrl-C suspends the demo on Restate and ends its server and workers; resumed, it comes to its end, the same where nothing was in flight",
  HANGS,
  async () => {
    await inFolder(async (folder) => {
      const same = ["--engine", "restate", "--journal", folder];
      const cut = await demo(same, onFirst("researcher/1", "SIGINT"));
      expect(cut.code).toBe(130);
      expect(cut.stderr).toMatch(/--resume --engine restate/);
      expect(await leftIn(folder)).toEqual([]);
      const ended = await demo(["--json", "--resume", ...same]);
      expect([ended.code, ended.stderr]).toEqual([0, ""]);
      const whole = JSON.parse((await inOneProcess()).stdout) as Printed;
      const { inDoubt = [], runId, ...resumed } = JSON.parse(ended.stdout) as Printed;
      expect(resumed.status).toBe("completed");
      // Calls that were in flight are made again and listed in `inDoubt`. The lost attempts stay charged, so a limit may be reached
      // earlier; if there are none, the result is the same.
      expect(inDoubt.filter((key) => !key.startsWith(runId))).toEqual([]);
      if (inDoubt.length > 0) return;
      const { output, agents, bill } = resumed;
      expect({ output, agents, bill }).toEqual({
        output: whole.output,
        agents: whole.agents,
        bill: whole.bill,
      });
    });
  },
);

test("R24: a demo that is killed takes its server and its workers along", HANGS, async () => {
  await inFolder(async (folder) => {
    const killed = await demo(
      ["--engine", "restate", "--journal", folder],
      onFirst("researcher/1", "SIGKILL"),
    );
    expect(killed.code).toBe(null);
    while ((await leftIn(folder)).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await leftIn(folder)).toEqual([]);
  });
});
