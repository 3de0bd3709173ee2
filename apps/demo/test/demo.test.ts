import { expect, test } from "vitest";
import { demo, demoJson, FROM_SOURCE, ordinaryJson, ordinaryRun } from "./run.ts";

test("the team answers from the documents, and says what was not settled", async () => {
  const { code, stdout, stderr } = await demo([], { program: FROM_SOURCE });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expect(stdout).toContain("stands in for the model");
  expect(stdout).toContain(
    "Borealis at $4800.00 meets the requirements (6 weeks, 18 months) and is $190.00 ahead of Acme.",
  );
  expect(stdout).toContain("| Acme | $4990.00 | 4 weeks | 24 months |");
  expect(stdout).toContain("| Cascade | open |");
  expect(stdout).toMatch(/Preempted: 1 gave a slot/);
  expect(stdout).toMatch(/Soft landing: 1 stopped at a limit/);
  expect(stdout).toMatch(/^fact_checker\/2\.1 +high +completed +2 /m);
});

test("--json prints one object and nothing else, the same every time but for the run's id", async () => {
  const [one, two] = await Promise.all([ordinaryRun(), demo(["--json"])]);
  expect(one.stdout.trimEnd().split("\n")).toHaveLength(1);
  const { runId, ...rest } = JSON.parse(one.stdout) as { runId: string };
  const { runId: other, ...again } = JSON.parse(two.stdout) as { runId: string };
  expect(runId).not.toBe(other);
  expect(rest).toEqual(again);
  expect(rest).toMatchObject({
    status: "completed",
    events: { preempted: 1, resumed: 1, partial: 1, denied: 0 },
  });
});

test("the server's own bill agrees with our books, call by call and dollar by dollar", async () => {
  const { costUsd, bill, agents } = await ordinaryJson();
  expect(bill?.costUsd).toBeCloseTo(costUsd, 9);
  expect(agents.reduce((sum, agent) => sum + agent.costUsd, 0)).toBeCloseTo(costUsd, 9);
  expect(agents.map(({ id, parent, priority, status }) => ({ id, parent, priority, status }))).toEqual([
    { id: "lead", parent: null, priority: 2, status: "completed" },
    { id: "researcher/1", parent: "lead", priority: 2, status: "completed" },
    { id: "researcher/2", parent: "lead", priority: 2, status: "completed" },
    { id: "fact_checker/2.1", parent: "researcher/2", priority: 4, status: "completed" },
    { id: "researcher/3", parent: "lead", priority: 2, status: "partial" },
    { id: "archivist/4", parent: "lead", priority: 0, status: "completed" },
    { id: "analyst/5", parent: "lead", priority: 2, status: "completed" },
    { id: "writer/6", parent: "lead", priority: 2, status: "completed" },
  ]);
});

test("wired by the sdk it gives the same result as wired by hand", async () => {
  const [hand, sdk] = await Promise.all([ordinaryJson(), demoJson("--sdk")]);
  expect({ ...sdk, runId: "" }).toEqual({ ...hand, runId: "" });
});

test("the answer depends on the question that was asked", async () => {
  const { output } = await demoJson("--question", "Acme or Borealis, for 500 sensors?");
  expect(output).toContain("Borealis at $2085.00");
  expect(output).not.toContain("Cascade |");
});

test("--budget 0.01 stops before the cap is passed, by the server's own bill, with a partial report", async () => {
  // One helper at a time: with more, it depends on their order whether the lead can still finish.
  const args = ["--budget", "0.01", "--agents", "2"];
  const { stdout, code } = await demo(["--json", ...args]);
  const printed = JSON.parse(stdout) as Awaited<ReturnType<typeof demoJson>>;
  expect(code).toBe(2);
  expect(printed.status).toBe("partial");
  expect(printed.bill?.costUsd).toBeLessThanOrEqual(0.01);
  expect(printed.bill?.costUsd).toBeGreaterThan(0.002);
  expect(printed.output).toMatch(/Not finished|Acme|Borealis/);
  expect(printed.stoppedBy).toMatchObject({ dimension: "cost", limit: 0.01, scope: "lead" });
  const shown = await demo(args);
  expect(shown.stdout).toMatch(/Stopped by a limit: cost of lead, 0\.\d+ of 0\.01 used/);
});

test("--budget 0.01 holds by the server's own bill with all helpers at once, and those that were cut off are partial", async () => {
  const { stdout, code } = await demo(["--json", "--budget", "0.01"]);
  const printed = JSON.parse(stdout) as Awaited<ReturnType<typeof demoJson>>;
  expect(printed.bill?.costUsd).toBeLessThanOrEqual(0.01);
  expect(printed.bill?.costUsd).toBeGreaterThan(0.002);
  expect(printed.agents.some(({ status }) => status === "partial")).toBe(true);
  // The lead itself may have got what it needed.
  expect(code).toBe(printed.status === "partial" ? 2 : 0);
  expect(printed.stoppedBy !== undefined).toBe(printed.status === "partial");
});

test("a budget with no room for a call is told as that, and not as a soft landing", async () => {
  const { stdout, code } = await demo(["--budget", "0.0001"]);
  expect(code).toBe(2);
  expect(stdout).toContain("Cut off: 1 could not afford a single call.");
  expect(stdout).not.toContain("Soft landing");
});

test("with few seats everybody waits for one, and the report is the same; with one seat nobody can be hired", async () => {
  const [whole, three] = await Promise.all([ordinaryJson(), demoJson("--agents", "3")]);
  expect(three.output).toBe(whole.output);
  // Where the researcher holds the last seat, its fact-checker could never get one: it says that the price is not settled.
  const tight = await demoJson("--agents", "2");
  expect(tight.output).toContain("Borealis: no price found");
  const alone = await demoJson("--agents", "1");
  expect(alone.output).toContain("nobody could work");
  expect(alone.agents.filter(({ status }) => status === "denied").length).toBeGreaterThanOrEqual(4);
});

test("--help says what it does; a wrong option says what is wrong and what was expected", async () => {
  expect(await demo(["--help"])).toMatchObject({ code: 0, stdout: expect.stringContaining("--crash-at N") });
  const wrong = async (...args: string[]): Promise<string> => {
    const { code, stderr, stdout } = await demo(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    return stderr;
  };
  expect(await wrong("--cheap")).toContain("Unknown option '--cheap'\n  --help lists all options");
  expect(await wrong("--budget", "free")).toContain("--budget");
  expect(await wrong("--agents", "0")).toContain("a whole number, 1 or more");
  expect(await wrong("--resume")).toContain("--journal");
  expect(await wrong("--model", "gpt")).toContain("openai:NAME or anthropic:NAME");
});
