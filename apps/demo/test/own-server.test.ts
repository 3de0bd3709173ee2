import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loopbackOpenAI } from "@ravi/testing";
import { expect, test } from "vitest";
import { startStandIn } from "../src/stand-in/server.ts";
import { demo, type Printed, withFolder } from "./run.ts";

// The only model that this server knows. Like one's own, it is in no list of prices.
const OWN = ["--model", "openai:stand-in", "--base-url"];

test("a model on one's own server needs no price: tokens are counted instead of dollars, and that is said", async () => {
  await using server = await startStandIn({});
  const { code, stdout, stderr } = await demo([...OWN, server.url]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).toContain(
    "its price is not known, so tokens are limited instead of dollars: 300000 at most",
  );
  expect(stdout).toMatch(/^all .* unpriced$/m);
  expect(stdout).toContain("Borealis at $4800.00 meets the requirements");
});

test("wired by the sdk it is the same; the live tree shows tokens", async () => {
  await using server = await startStandIn({});
  const { code, stdout } = await demo([...OWN, server.url, "--sdk", "--live"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/[█░]{10} 300k/);
});

test.each([
  ["an answer", { text: "Done.\u001B]52;c;cm0gLXJm\u0007\u009B2J\r!" }],
  [
    "a refusal",
    { fault: { type: "status", status: 401, message: "No.\u001B]52;c;cm0gLXJm\u0007" } as const },
  ],
])("%s that would steer the terminal is printed without what does", async (_what, answer) => {
  await using server = await loopbackOpenAI({ script: () => answer, models: ["stand-in"] });
  const { stdout, stderr } = await demo([...OWN, server.url]);
  expect(stdout + stderr).toMatch(/(?:Done|No)\.\]52;c;cm0gLXJm/);
  expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n\t]/u);
});

test("with --price dollars are counted, and a budget holds", async () => {
  await using server = await startStandIn({});
  const run = async (...args: string[]): Promise<Printed> =>
    JSON.parse((await demo(["--json", ...OWN, server.url, "--price", "1,5", ...args])).stdout) as Printed;
  const whole = await run();
  expect(whole.status).toBe("completed");
  expect(whole.costUsd).toBeCloseTo(server.bill().costUsd, 9);
  // Below what the helpers would take together: with more, who is refused is a matter of who asks first, and the lead may well end.
  const cut = await run("--budget", "0.005");
  expect(cut).toMatchObject({ status: "partial", stoppedBy: { dimension: "cost", limit: 0.005 } });
  expect(cut.costUsd).toBeLessThanOrEqual(0.005);
});

/** Also where it would leave something behind: in a folder for temporary files of its own. */
async function refused(...args: string[]): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), "ravi-demo-test-"));
  const before = process.env["TMPDIR"];
  process.env["TMPDIR"] = temporary;
  try {
    const { code, stdout, stderr } = await demo(args);
    expect({ code, stdout, left: await readdir(temporary) }).toEqual({ code: 1, stdout: "", left: [] });
    expect(stderr).not.toContain("    at ");
    return stderr;
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    await rm(temporary, { recursive: true });
  }
}

test("a budget in dollars without a price is refused, and so is a price without a model or of another kind", async () => {
  expect(await refused(...OWN, "http://127.0.0.1:9/v1", "--budget", "1")).toMatch(
    /--price is undefined; expected the price of openai:stand-in/,
  );
  expect(await refused("--model", "openai:nobody-knows-it")).toContain("--price");
  expect(await refused("--price", "1,2")).toContain("--model as well");
  expect(await refused("--model", "openai:x", "--price", "1")).toContain(
    '--price is "1"; expected dollars per million',
  );
  expect(await refused("--model", "openai:x", "--price", "-1,2")).toContain("dollars per million");
});

test("what is asked for wrongly leaves nothing behind", async () => {
  expect(await refused("--model", "foo:x")).toContain("openai:NAME or anthropic:NAME");
  expect(await refused("--model", "openai:gpt-5-mini", "--base-url", "not a url")).toContain(
    '--base-url is "not a url"; expected the URL of a server',
  );
  expect(await refused("--model", "openai:gpt-5-mini", "--base-url", "http://[")).toContain("baseURL");
  expect(await refused("--budget", "-1")).toContain('--budget is "-1"; expected a number of dollars above 0');
  expect(await refused("--agents", "-2")).toContain('--agents is "-2"; expected a whole number');
});

test("--journal that is no folder is refused by name; --resume makes no folder where there is none", async () => {
  expect(await refused("--journal", "/etc/passwd")).toMatch(
    /--journal is "\/etc\/passwd"; expected a folder/,
  );
  await withFolder(async (folder) => {
    expect(await refused("--resume", "--journal", join(folder, "none-here"))).toContain(
      "start without --resume",
    );
    expect(await readdir(folder)).toEqual([]);
  });
});
