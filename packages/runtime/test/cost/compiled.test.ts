import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

/** What a helper prints, in a process of its own. */
function outputOf(helper: string, flags: readonly string[], ...args: readonly string[]): string {
  const script = join(import.meta.dirname, "helpers", helper);
  const command = ["--conditions=@ravi/source", "--expose-gc", ...flags, script, ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, command, { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(status).toBe(0);
  return stdout;
}

/** The functions whose compiled code a collection has discarded because an object of a class that they know was alive no more. */
function discardedBy(kind: "bare" | "governed"): readonly string[] {
  const printed = outputOf("idle-collection.ts", ["--trace-deopt", "--no-concurrent-recompilation"], kind);
  const [, collected = ""] = /\nCOLLECT\n(.*)COLLECTED\n/s.exec(printed) ?? [];
  return collected
    .split("\n")
    .filter((line) => line.includes("embedded weak objects cleared"))
    .map((line) => /SharedFunctionInfo ?([^>]*)>/.exec(line)?.[1] ?? line);
}

// Without the waiting run, the code of 75 functions (bare) and of 220 (governed) is discarded, and runs take up to twelve times as long
// until it is compiled again. With it, 13 and 24: what the tool, the model and their messages are made of.
test.each([
  ["bare", 30],
  ["governed", 60],
] as const)(
  "a collection while there are no runs leaves the code compiled that %s runs need",
  (kind, most) => {
    const discarded = discardedBy(kind);
    expect(discarded.some((name) => name.includes("Control"))).toBe(true);
    expect(discarded.length).toBeLessThanOrEqual(most);
  },
);

test("the waiting run is nobody's: no hook hears of it, no journal lists it, it holds no context and no timer", () => {
  expect(JSON.parse(outputOf("idle-leftovers.ts", []))).toEqual({
    contexts: [false, false],
    starts: 3,
    listed: 3,
    resources: [],
  });
});
