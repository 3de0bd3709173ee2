import { describe, expect, test } from "vitest";
import { demo, demoJson, ordinaryJson, type Printed, withFolder } from "./run.ts";

const LONG = process.env["RAVI_LONG"] !== undefined;
/** In the short run every so manieth entry is a place to die at. */
const STEP = LONG ? 1 : 12;

async function killAndGoOn(at: number): Promise<Printed | "over before"> {
  return withFolder(async (folder) => {
    const killed = await demo(["--json", "--journal", folder, "--crash-at", String(at)]);
    if (killed.signal === null) {
      expect(killed.code).toBe(0);
      return "over before";
    }
    expect(killed).toMatchObject({ signal: "SIGKILL", stdout: "" });
    return demoJson("--journal", folder, "--resume");
  });
}

describe("killed for good at entry N of its journal, and resumed", { timeout: 1_800_000 }, () => {
  test("the report is the same, and the bill too but for calls that were in flight", async () => {
    const whole = await ordinaryJson();
    let next = 1;
    const lane = async (): Promise<void> => {
      for (;;) {
        const at = next;
        next += STEP;
        const resumed = await killAndGoOn(at);
        if (resumed === "over before") return;
        expect({ at, status: resumed.status, output: resumed.output }).toEqual({
          at,
          status: "completed",
          output: whole.output,
        });
        // A call in flight at the kill may be paid for twice, is said to be, and nothing else is.
        const twice = (resumed.bill?.calls ?? 0) - (whole.bill?.calls ?? 0);
        expect({ at, twice: twice >= 0 && twice <= (resumed.inDoubt?.length ?? 0) }).toEqual({
          at,
          twice: true,
        });
      }
    };
    await Promise.all([lane(), lane()]);
    expect(next).toBeGreaterThan(60);
  });
});

test("killed, it says how to go on; the report then lists what was in flight, and why it is dearer than the bill", async () => {
  await withFolder(async (folder) => {
    const killed = await demo(["--journal", folder, "--crash-at", "2"]);
    expect(killed.stderr).toContain(
      `To continue the run: npx -y pnpm@12 demo --journal ${folder} --resume\n`,
    );
    const { stdout } = await demo(["--journal", folder, "--resume"]);
    expect(stdout).toMatch(/counts with the most that it may have cost:\n {2}llm:openai\/stand-in#1\n$/);
  });
});

test("a run that has no answer yet is reported without an empty place for it", async () => {
  await withFolder(async (folder) => {
    const { stdout } = await demo(["--journal", folder], {
      onLine: (line, kill) => {
        // A line that comes once: a second signal ends the process at once.
        if (line.includes("hires archivist")) kill("SIGTERM");
      },
    });
    expect(stdout).toContain("suspended");
    expect(stdout).not.toContain("\n\n\n");
  });
});

test("Ctrl-C keeps the run's place and says how to go on", async () => {
  await withFolder(async (folder) => {
    const stopped = await demo(["--journal", folder], {
      onLine: (line, kill) => {
        if (line.includes("hires fact_checker")) kill("SIGINT");
      },
    });
    expect(stopped).toMatchObject({ code: 130, signal: null });
    expect(stopped.stderr).toContain(`--journal ${folder} --resume`);
    const [whole, resumed] = await Promise.all([ordinaryJson(), demoJson("--journal", folder, "--resume")]);
    expect(resumed.output).toBe(whole.output);
  });
});

test("--resume where nothing was written says so", async () => {
  await withFolder(async (folder) => {
    const { code, stderr } = await demo(["--journal", folder, "--resume"]);
    expect(code).toBe(1);
    expect(stderr).toContain("start without --resume");
  });
});
