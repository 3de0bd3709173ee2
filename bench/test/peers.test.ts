import { describe, expect, test } from "vitest";
import type { Figure } from "../src/figures.ts";
import { installedVersions } from "../src/peers/install.ts";
import { readOptions } from "../src/peers/options.ts";
import { PEERS } from "../src/peers/peers.ts";
import { cellOf, markdown, type Report, withTable } from "../src/peers/report.ts";
import { measureRounds, type Sample, turnsOf } from "../src/peers/rounds.ts";

const S1: Figure = { scenario: "S1", field: "us", title: "S1 one run", isRatio: true };
const SCENARIOS = ["S1", "S2", "S4", "S4heap", "S6"];

function sample(subject: string, round: number, us: number): Sample {
  return { subject, scenario: "S1", round, figures: { us } };
}

describe("rounds", () => {
  test("another subject begins each round, and every other round goes backwards", () => {
    expect(turnsOf(["a", "b", "c"], 0)).toEqual(["a", "b", "c"]);
    expect(turnsOf(["a", "b", "c"], 1)).toEqual(["a", "c", "b"]);
    expect(turnsOf(["a", "b", "c"], 2)).toEqual(["c", "a", "b"]);
  });

  test("what fails is a sample with an error, and the others go on", async () => {
    const samples = await measureRounds({
      subjects: ["good", "bad"],
      scenarios: ["S1"],
      repeats: 2,
      signal: new AbortController().signal,
      tell: () => {},
      measure: async (subject) => {
        if (subject === "bad") throw new Error("it broke");
        return { us: 1 };
      },
    });
    expect(samples.map(({ subject, figures, error }) => [subject, figures?.["us"], error])).toEqual([
      ["good", 1, undefined],
      ["bad", undefined, "Error: it broke"],
      ["good", 1, undefined],
      ["bad", undefined, "Error: it broke"],
    ]);
  });

  test("an abort keeps what was measured before it", async () => {
    const stopping = new AbortController();
    const samples = await measureRounds({
      subjects: ["a", "b", "c"],
      scenarios: ["S1"],
      repeats: 5,
      signal: stopping.signal,
      tell: ({ subject }) => subject === "b" && stopping.abort(),
      measure: async () => ({ us: 1 }),
    });
    expect(samples.map(({ subject }) => subject)).toEqual(["a", "b"]);
  });
});

describe("the table", () => {
  const samples = [
    sample("hand-written", 0, 1),
    sample("ours", 0, 2),
    sample("hand-written", 1, 10),
    sample("ours", 1, 30),
    sample("hand-written", 2, 1),
    sample("ours", 2, 9),
  ];

  test("a ratio is the median over the rounds, each beside the hand-written loop of the same round", () => {
    expect(cellOf(samples, "ours", S1)).toEqual({ value: 9, low: 2, high: 30, ratio: 3 });
    expect(cellOf(samples, "hand-written", S1)?.ratio).toBeUndefined();
    expect(cellOf(samples, "nobody", S1)).toBeUndefined();
  });

  test("it says who was left out and why, what failed, and that a busy machine's figures are preliminary", () => {
    const report: Report = {
      when: "2026-11-15T00:00:00.000Z",
      machine: { node: "v26", cpu: "cpu", cores: 2, system: "Linux" },
      command: "pnpm bench:peers",
      warmMs: 4_000,
      measureMs: 1_000,
      repeats: 3,
      load: 8,
      subjects: [
        { name: "hand-written", title: "hand-written" },
        { name: "ours", title: "Ravi" },
      ],
      versions: { pi: { pi: "1.0.0" } },
      leftOut: { ai: "no network" },
      samples: [...samples, { subject: "ours", scenario: "S2", round: 0, error: "at x\nit broke" }],
    };
    const text = markdown(report, [S1]);
    expect(text).toContain("| S1 one run | 1.00 | 9.00 (3.00×) |");
    expect(text).toContain("| S1 one run | 1.00–10.0 | 2.00–30.0 |");
    expect(text).toContain("- pi: pi 1.0.0");
    expect(text).toContain("- ai was left out: no network");
    expect(text).toContain("- ours, S2: it broke");
    expect(text).toContain("Preliminary");
    expect(markdown({ ...report, load: 0.2 }, [S1])).not.toContain("Preliminary");
  });

  test("it replaces what stands between the markers of a page, and nothing else", () => {
    const page = "above\n<!-- bench:peers -->\nold\n<!-- /bench:peers -->\nbelow\n";
    const once = withTable(page, "new\n");
    expect(once).toBe("above\n<!-- bench:peers -->\n\nnew\n\n<!-- /bench:peers -->\nbelow\n");
    expect(withTable(once, "new")).toBe(once);
    expect(() => withTable("no markers", "new")).toThrow("the page has no <!-- bench:peers -->");
  });
});

describe("the command", () => {
  test("without options it measures all of them, with a warm-up long enough for the slow ones", () => {
    expect(readOptions([], {}, SCENARIOS)).toEqual({
      peers: PEERS,
      scenarios: SCENARIOS,
      repeats: 5,
      warmMs: 4_000,
      measureMs: 1_000,
      docs: false,
    });
  });

  test("--only and --scenarios choose; S4 is both of its parts", () => {
    const read = readOptions(["--only", "ai,pi", "--scenarios", "S1,S4"], { WARM_MS: "10" }, SCENARIOS);
    expect(read).toMatchObject({ scenarios: ["S1", "S4", "S4heap"], warmMs: 10 });
    expect(typeof read === "object" && "peers" in read && read.peers.map(({ name }) => name)).toEqual([
      "pi",
      "ai",
    ]);
  });

  test("what is not there is named", () => {
    expect(readOptions(["--only", "nobody"], {}, SCENARIOS)).toEqual({
      problem: "unknown framework nobody; expected one of pi, ai, strands, openai-agents, langchain, mastra",
    });
    expect(readOptions(["--scenarios", "S9"], {}, SCENARIOS)).toEqual({
      problem: "unknown scenario S9; expected one of S1, S2, S4, S4heap, S6",
    });
    expect(readOptions(["--repeats", "0"], {}, SCENARIOS)).toMatchObject({
      problem: expect.stringContaining("0"),
    });
    expect(readOptions(["--nonsense"], {}, SCENARIOS)).toMatchObject({
      problem: expect.stringContaining("nonsense"),
    });
    expect(readOptions(["--help"], {}, SCENARIOS)).toBe("help");
  });

  test("every peer says in its package.json what to install, with exact versions", () => {
    for (const { name } of PEERS) {
      // Undefined where it is not installed; an exact version, or nothing, where it is.
      const versions = Object.values(installedVersions(name) ?? { none: "0.0.0" });
      for (const version of versions) expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });
});
