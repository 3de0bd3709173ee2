import { expect, test } from "vitest";
import type { JsonValue } from "@ravi/kernel";
import { listedQuestion } from "@ravi/kernel/loop";

const LONG = "x".repeat(20_001);
const circle: Record<string, unknown> = {};
circle["self"] = circle;

test.each<[string, unknown, unknown]>([
  ["nothing", undefined, undefined],
  ["null", null, null],
  ["a short text", "may I?", "may I?"],
  ["a short object", { tool: "pay", arguments: "{}" }, { tool: "pay", arguments: "{}" }],
  ["a text of just the right length", "x".repeat(19_998), "x".repeat(19_998)],
  ["a long text", LONG, undefined],
  ["a long list", [LONG], undefined],
  ["an object with a long field", { tool: "pay", arguments: LONG }, { tool: "pay" }],
  ["what is no JSON", { amount: 1n }, undefined],
  ["a circle", circle, undefined],
])("R24: of a question, the list of runs has what fits: %s", (_, question, listed) => {
  expect(listedQuestion(question as JsonValue | undefined)).toEqual(listed);
});
