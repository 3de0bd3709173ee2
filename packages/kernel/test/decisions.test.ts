import { describe, expect, test } from "vitest";
import { checkDecisions, type Decisions, fullDecisions } from "../src/loop.ts";

const doubts = [
  { execId: "run", key: "tool:pay#1" },
  { execId: "run/hire:a#1", key: "tool:pay#1" },
  { execId: "run", key: "tool:send#1" },
];

describe("decisions on calls in doubt", () => {
  test("R24: the key alone will do where one call is in doubt under it, and a whole key always", () => {
    expect(fullDecisions(doubts, { "tool:send#1": "skip" })).toEqual({ "run:tool:send#1": "skip" });
    expect(fullDecisions(doubts, { "run/hire:a#1:tool:pay#1": "retry" })).toEqual({
      "run/hire:a#1:tool:pay#1": "retry",
    });
  });

  test("R24: a key that several calls are in doubt under is refused, and they are named", () => {
    expect(() => fullDecisions(doubts, { "tool:pay#1": "retry" })).toThrow(
      /run:tool:pay#1, run\/hire:a#1:tool:pay#1/,
    );
  });

  test("R24: what fits nothing stays as it was given", () => {
    expect(fullDecisions([], { "tool:pay#1": "retry" })).toEqual({ "tool:pay#1": "retry" });
  });

  test.each([
    [{ "run:tool:pay#1": "rety" }],
    [{ "run:tool:pay#1": undefined }],
    [["retry"]],
    ["retry"],
    [null],
  ])("R24: %j is no decision", (given) => {
    expect(() => checkDecisions(given)).toThrow(expect.objectContaining({ code: "INVALID_VALUE" }));
    expect(() => fullDecisions(doubts, given as Decisions)).toThrow(/decisions/);
  });
});
