import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as testing from "../src/index.ts";

test("the package exports exactly these values", () => {
  expect(Object.keys(testing).toSorted()).toEqual([
    "loopbackOpenAI",
    "readBill",
    "scriptedModel",
    "virtualClock",
  ]);
});

test("the package exports exactly these types", () => {
  const source = readFileSync(new URL("../src/index.ts", import.meta.url), "utf8");
  const lists = [...source.matchAll(/export (type )?\{([^}]*)\}/g)];
  const types = lists.flatMap(([, all, names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "" && (all !== undefined || name.startsWith("type ")))
      .map((name) => name.replace(/^type /, "")),
  );
  expect(types.toSorted()).toEqual([
    "Answer",
    "AnswerFault",
    "AnswerParts",
    "BillEntry",
    "BillSummary",
    "LoopbackCall",
    "LoopbackOptions",
    "LoopbackRequest",
    "LoopbackServer",
    "Prices",
    "RecordedCall",
    "Script",
    "ScriptFunction",
    "ScriptMatcher",
    "ScriptedModel",
    "ScriptedModelOptions",
    "ScriptedToolCall",
    "VirtualClock",
  ]);
});
