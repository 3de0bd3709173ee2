import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loopbackOpenAI } from "@ravi/testing";
import { evaluate } from "../src/calculate.ts";
import type { Score } from "../src/compete.ts";

const folder = join(import.meta.dirname, "..");

/** Runs the arena as a user does: a process of its own, from source. */
function arena(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
  const env = { ...process.env, OPENAI_API_KEY: "sk-arena" };
  execFile(
    process.execPath,
    ["--conditions=@ravi/source", "src/main.ts", ...args],
    { cwd: folder, env },
    (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    },
  );
  return promise;
}

const ALL = [
  "react",
  "self-refine",
  "reflexion",
  "tree-of-thoughts",
  "plan-and-execute",
  "rewoo",
  "router",
  "supervisor",
  "actor-critic",
  "debate",
  "swarm",
  "blackboard",
];

describe("the arena", () => {
  test("all twelve answer the same question, with calls, tokens, cost and time side by side", async () => {
    const { code, stdout, stderr } = await arena();
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toContain("nothing is spent");
    for (const name of ALL)
      expect(stdout).toMatch(
        new RegExp(`^${name} +\\d+ +\\d+ +\\d+ +\\$0\\.\\d+ +\\d+\\.\\d s  completed +.*24`, "m"),
      );
  });

  test("--json gives one object, the same one every time, and what each costs by its formula", async () => {
    const [one, two] = await Promise.all([arena("--json"), arena("--json")]);
    expect(one.stdout).toBe(two.stdout);
    const { pretended, scores } = JSON.parse(one.stdout) as { pretended: boolean; scores: Score[] };
    expect(pretended).toBe(true);
    expect(Object.fromEntries(scores.map(({ strategy, calls }) => [strategy, calls]))).toEqual({
      react: 2,
      "self-refine": 2 + 1 + 1 + 1,
      reflexion: 2 + 1 + 1 + 1 + 1,
      "tree-of-thoughts": 21,
      "plan-and-execute": 1 + 2 + 2 + 1,
      rewoo: 2,
      router: 1 + 2,
      supervisor: 2 + 2 + 2,
      "actor-critic": 2 + 1 + 1 + 1,
      debate: 6,
      swarm: 2,
      blackboard: 2,
    });
    for (const { tokens, costUsd, ms } of scores) {
      expect(tokens).toBeGreaterThan(0);
      expect(costUsd).toBeGreaterThan(0);
      expect(ms).toBeGreaterThan(0);
    }
    const time = (name: string): number => scores.find(({ strategy }) => strategy === name)?.ms ?? 0;
    // Twenty-one calls in seven waves: what runs at once takes the time of one.
    expect(time("tree-of-thoughts")).toBeLessThan(8 * 1_000);
  });

  test("--only runs some of them, in the order asked", async () => {
    const { stdout } = await arena("--json", "--only", "debate, react");
    const { scores } = JSON.parse(stdout) as { scores: Score[] };
    expect(scores.map(({ strategy }) => strategy)).toEqual(["debate", "react"]);
  });

  test("a limit cuts them off, and says so by its exit code", async () => {
    const { code, stdout } = await arena("--json", "--only", "reflexion", "--usd", "0.0001");
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ scores: [{ status: "partial" }] });
  });

  test("--model asks a real one over HTTP", async () => {
    await using server = await loopbackOpenAI({ script: () => ({ text: "It is 24." }) });
    const { code, stdout, stderr } = await arena(
      "--json",
      "--model",
      "openai:gpt-4o-mini",
      "--base-url",
      server.url,
      "--only",
      "react",
      "--question",
      "How much?",
    );
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      question: "How much?",
      pretended: false,
      scores: [{ strategy: "react", answer: "It is 24.", calls: 1 }],
    });
    expect(server.bill().entries).toHaveLength(1);
  });

  test.each([
    [["--only", "reakt"], "one of react, self-refine"],
    [["--question", "Why?"], "the stand-in knows one question"],
    [["--model", "gpt-5.2"], "openai:NAME"],
    [["--usd", "0"], "dollars above 0"],
    [["--fast"], "--fast"],
  ])("%j is refused, and what was wrong is said", async (args, why) => {
    const { code, stdout, stderr } = await arena(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(why);
  });

  test("--help says what it does", async () => {
    const { code, stdout } = await arena("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("twelve ways of thinking");
  });
});

test("the calculator reads sums, products and parentheses, and says where it cannot", () => {
  expect(evaluate("18 / 3 * 4")).toBe(24);
  expect(evaluate("-(1 + 2) * 3 - 4")).toBe(-13);
  expect(() => evaluate("2 +")).toThrow("at its end");
  expect(() => evaluate("2 + x")).toThrow("at x");
  expect(() => evaluate("(1")).toThrow("at its end");
});
