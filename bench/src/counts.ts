import { execFile } from "node:child_process";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { BENCH } from "./harness/child.ts";
import { table } from "./harness/table.ts";

// How many instructions a scenario takes, and how often the processor has to fetch code that is not in its first cache. Unlike times, these
// do not depend on what else the machine does. Needs valgrind.

const SUBJECTS = ["hand-written", "bare", "governed", "sdk"];
/** Runs before the counted ones, in which V8 compiles; counted runs; and the turns or calls of a run. */
const SCENARIOS: Readonly<
  Record<string, { readonly before: number; readonly counted: number; readonly units: number }>
> = {
  S1: { before: 60_000, counted: 3_000, units: 1 },
  S2: { before: 1_500, counted: 60, units: 50 },
  S3: { before: 1_500, counted: 40, units: 100 },
  S8: { before: 6_000, counted: 100, units: 1 },
};

/** The first cache of common processors, and a second one behind it. */
const CACHES = ["--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64"];

interface Counts {
  /** Instructions in code that V8 has compiled from JavaScript. */
  compiled: number;
  /** In V8's built-in functions. */
  builtIn: number;
  /** In C++: freezing, the clock, the garbage collector and the compiler. */
  native: number;
  /** Times that code was not in the first cache. */
  misses: number;
}

export async function counts(_: number, asked: readonly string[] | undefined): Promise<void> {
  if (!(await hasValgrind())) {
    console.log("counts needs valgrind, which is not installed (on Debian: apt-get install valgrind)");
    process.exitCode = 1;
    return;
  }
  const rows: string[][] = [];
  for (const scenario of Object.keys(SCENARIOS).filter((name) => asked?.includes(name) ?? true)) {
    for (const subject of SUBJECTS) {
      const { compiled, builtIn, native, misses } = await countsOf(subject, scenario);
      const cells = [compiled, builtIn, native, misses].map((count) =>
        Math.round(count).toLocaleString("en"),
      );
      rows.push([`${scenario}, ${subject}`, ...cells]);
    }
  }
  const head = ["instructions", "compiled code", "built-ins", "C++", "code not in the first cache"];
  console.log(table(head, rows));
}

async function hasValgrind(): Promise<boolean> {
  try {
    await promisify(execFile)("valgrind", ["--version"]);
    return true;
  } catch {
    return false;
  }
}

async function countsOf(subject: string, scenario: string): Promise<Counts> {
  const { before, counted, units } = SCENARIOS[scenario] ?? { before: 1, counted: 1, units: 1 };
  const folder = mkdtempSync(join(tmpdir(), "ravi-counts-"));
  const file = join(folder, "counts");
  const tool = ["--tool=callgrind", "--instr-atstart=no", "--smc-check=all-non-file", ...CACHES];
  // On one thread, so that the compiler and the garbage collector do not disturb each other.
  const node = [process.execPath, "--single-threaded", "src/counts-worker.ts"];
  const run = [...node, subject, scenario, String(before), String(counted)];
  try {
    const env = { ...process.env, NODE_ENV: "production", NODE_COMPILE_CACHE: "" };
    await promisify(execFile)("valgrind", [...tool, `--callgrind-out-file=${file}`, ...run], {
      cwd: BENCH,
      env,
    });
    return await read(file, counted * units);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Reads what callgrind has written: the cost of each line of each function, and after `calls=` that of a call, which is in its function. */
async function read(file: string, divisor: number): Promise<Counts> {
  const names = new Map<string, string>();
  const sum: Counts = { compiled: 0, builtIn: 0, native: 0, misses: 0 };
  let kind: "compiled" | "builtIn" | "native" = "native";
  let isCall = false;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const named = /^c?fn=\((\d+)\)(?: (.*))?$/.exec(line);
    if (named !== null) {
      const [, id = "", given] = named;
      if (given !== undefined) names.set(id, given);
      if (line.startsWith("fn=")) kind = kindOf(names.get(id) ?? "");
    } else if (line.startsWith("calls=")) isCall = true;
    else if (/^[\d+*-]/.test(line)) {
      const [, instructions = 0, , , misses = 0] = line.split(" ").map(Number);
      if (!isCall) {
        sum[kind] += instructions / divisor;
        sum.misses += misses / divisor;
      }
      isCall = false;
    }
  }
  return sum;
}

function kindOf(name: string): "compiled" | "builtIn" | "native" {
  if (name.startsWith("Builtins_")) return "builtIn";
  // Code that was compiled in the process has no name.
  return name.startsWith("???") || name.startsWith("0x") ? "compiled" : "native";
}
