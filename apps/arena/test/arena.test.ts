import { type ChildProcessByStdio, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { loopbackOpenAI } from "@ravi/testing";
import { evaluate } from "../src/calculate.ts";
import type { Score } from "../src/compete.ts";

const folder = join(import.meta.dirname, "..");

/** The program in fewer files, which starts faster; see scripts/bundle-programs.ts. */
const BUNDLED = "dist/main.js";

/** Runs the arena as a user does: a process of its own. */
function arena(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number; stdout: string; stderr: string }>();
  const env = { ...process.env, OPENAI_API_KEY: "sk-arena" };
  execFile(process.execPath, [BUNDLED, ...args], { cwd: folder, env }, (error, stdout, stderr) => {
    resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
  });
  return promise;
}

function start(...args: string[]): ChildProcessByStdio<null, Readable, Readable> {
  return spawn(process.execPath, [BUNDLED, ...args], {
    cwd: folder,
    env: { ...process.env, OPENAI_API_KEY: "sk-arena" },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function ended(
  child: ReturnType<typeof start>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout).catch(() => ""),
    text(child.stderr),
    once(child, "close").then(([given]) => Number(given)),
  ]);
  return { code, stdout, stderr };
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

  test("a model on one's own server needs no price: tokens are counted, and that is said", async () => {
    await using server = await loopbackOpenAI({
      script: () => ({ text: "It is 24." }),
      models: ["llama3.3"],
    });
    const own = ["--model", "openai:llama3.3", "--base-url", server.url, "--only", "react"];
    const { code, stdout, stderr } = await arena(...own);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(stdout).toContain("its price is not known, so tokens are limited instead: 200000");
    expect(stdout).toMatch(/^react .* \? .* completed +It is 24\.$/m);
    const priced = await arena(...own, "--json", "--price", "1,5", "--usd", "0.5");
    expect(JSON.parse(priced.stdout)).toMatchObject({
      scores: [{ costUsd: expect.closeTo(server.bill().costUsd) }],
    });
    const unpriced = await arena(...own, "--usd", "0.5");
    expect(unpriced).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/--price .*the price of llama3\.3/),
    });
  });

  test("what would steer the terminal is not printed, be it in an answer or in a refusal", async () => {
    const hostile = "No.\u001B]52;c;cm0gLXJm\u0007";
    let calls = 0;
    await using server = await loopbackOpenAI({
      script: () =>
        calls++ === 0 ? { text: hostile } : { fault: { type: "status", status: 401, message: hostile } },
    });
    const own = ["--model", "openai:gpt-4o-mini", "--base-url", server.url, "--only", "react,router"];
    const { stdout, stderr } = await arena(...own);
    expect(stdout).toContain("No. ]52;c;cm0gLXJm");
    expect(stderr).toContain("No.]52;c;cm0gLXJm");
    expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n\t]/u);
  });

  test("a model that answers nothing at all (a wrong key) is asked once, and that is said once", async () => {
    await using server = await loopbackOpenAI({ script: () => ({ fault: { type: "status", status: 401 } }) });
    const { code, stdout, stderr } = await arena("--model", "openai:gpt-4o-mini", "--base-url", server.url);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^react .* failed$/m);
    expect(stderr).toMatch(/^arena: react: .*401.*\narena: the model answered no call at all.*\n$/);
    expect(server.requests).toHaveLength(1);
  });

  test("Ctrl-C asks nobody any more, and shows how far it came", async () => {
    await using server = await loopbackOpenAI({ script: () => ({ text: "It is 24.", delayMs: 60_000 }) });
    const child = start("--model", "openai:gpt-4o-mini", "--base-url", server.url);
    // Called for the first time: it is at work.
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill("SIGINT");
    const { code, stdout } = await ended(child);
    expect(code).toBe(130);
    expect(stdout).toMatch(/^react .* cancelled/m);
    expect(stdout).not.toContain("self-refine");
  });

  test("a reader that goes away early (| head -1) ends it quietly", async () => {
    const child = start();
    child.stdout.once("data", () => child.stdout.destroy());
    const { code, stderr } = await ended(child);
    expect(stderr).toContain("cannot write to standard output any more");
    expect(stderr).not.toContain("    at ");
    expect(code).toBe(1);
  });

  test.runIf(existsSync("/dev/full"))("a full disk is said, and is no crash", async () => {
    const command = `exec "$0" --conditions=@ravi/source src/main.ts > /dev/full`;
    const child = spawn("sh", ["-c", command, process.execPath], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { code, stderr } = await ended(child);
    expect(stderr).toMatch(/^arena: cannot write to standard output any more \(ENOSPC.*\n$/);
    expect(code).toBe(1);
  });

  test.each([
    [["--base-url", "http://127.0.0.1:1/v1"], "--model as well"],
    [["--price", "1,2"], "--model as well"],
    [["--model", "openai:llama3.3", "--base-url", "here"], '--base-url is "here"'],
    [["--model", "openai:llama3.3", "--price", "cheap"], '--price is "cheap"'],
    [["--only", "reakt"], "one of react, self-refine"],
    [["--question", "Why?"], "the stand-in only knows its own question"],
    [["--model", "gpt-5.2"], "openai:NAME"],
    [["--model", "openai:gpt-5-mini", "--question", " "], '--question is " "'],
    [["--usd", "0"], "dollars above 0"],
    [["--fast"], "--fast'\n  --help lists all options"],
  ])("%j is refused, and what was wrong is said", async (args, why) => {
    const { code, stdout, stderr } = await arena(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(why);
  });

  test("a limit that no ledger can count is told in one line, without a stack", async () => {
    const { code, stderr } = await arena("--only", "react", "--usd", "1e9");
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^arena: executionBudget\.maxCostUsd is 1000000000; expected an amount in dollars .*\n$/,
    );
  });

  test("--help says what it does", async () => {
    const { code, stdout } = await arena("--help");
    expect(code).toBe(0);
    expect(stdout).toContain("twelve reasoning strategies");
  });
});

test("the calculator reads sums, products and parentheses, and says where it cannot", () => {
  expect(evaluate("18 / 3 * 4")).toBe(24);
  expect(evaluate("-(1 + 2) * 3 - 4")).toBe(-13);
  expect(() => evaluate("2 +")).toThrow("at its end");
  expect(() => evaluate("2 + x")).toThrow("at x");
  expect(() => evaluate("(1")).toThrow("at its end");
});
