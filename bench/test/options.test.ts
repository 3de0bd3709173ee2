import { expect, test } from "vitest";
import { readOptions } from "../src/options.ts";

const read = (...args: string[]) => readOptions(args, ["imports", "loops"], ["S1", "S4runs", "S4heap"]);

test("what is asked for is read", () => {
  expect(read()).toEqual({ sections: [], pairs: 15, scenarios: undefined, against: undefined });
  expect(read("loops", "--pairs", "3", "--scenarios", "S1, S4")).toEqual({
    sections: ["loops"],
    pairs: 3,
    scenarios: ["S1", "S4"],
    against: undefined,
  });
  expect(read("--help")).toBe("help");
});

test.each([
  [["--fast"], "--fast"],
  [["lops"], "unknown section lops; expected one of imports, loops"],
  [["--pairs", "few"], "--pairs is few; expected a whole number above 0"],
  [["loops", "--scenarios", "S99"], "unknown scenario S99; expected one of S1, S4runs, S4heap"],
  [["loops", "--scenarios", ""], "unknown scenario (empty)"],
  [["--against", "nowhere"], "--against is nowhere; expected a checkout of Ravi in which pnpm build was run"],
  [["loops", "--against", "."], "it was given loops"],
])("%j is refused in words: nothing is measured for an hour, or at all", (args, why) => {
  expect(read(...args)).toEqual({ problem: expect.stringContaining(why) });
});
