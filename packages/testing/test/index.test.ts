import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as testing from "../src/index.ts";
import * as suites from "../src/suites/index.ts";

test("the package exports exactly these values", () => {
  expect(Object.keys(testing).toSorted()).toEqual([
    "UnrecordedRequestError",
    "loopbackAnthropic",
    "loopbackOpenAI",
    "readBill",
    "record",
    "replay",
    "scriptedModel",
    "virtualClock",
  ]);
});

test("the entry of the suites exports exactly these values", () => {
  expect(Object.keys(suites).toSorted()).toEqual([
    "anyText",
    "assertHeadcountCase",
    "assertJournalCase",
    "assertLedgerCase",
    "assertModelCase",
    "assertRuntimeCase",
    "describeHeadcount",
    "describeJournal",
    "describeLedger",
    "describeModel",
    "describeRuntime",
    "headcountCases",
    "journalCases",
    "ledgerCases",
    "modelCases",
    "runtimeCases",
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
    "CallLine",
    "CassetteOptions",
    "LoopbackCall",
    "LoopbackOptions",
    "LoopbackRequest",
    "LoopbackServer",
    "Prices",
    "RecordOptions",
    "RecordedCall",
    "Replay",
    "ReplayOptions",
    "Script",
    "ScriptFunction",
    "ScriptMatcher",
    "ScriptedModel",
    "ScriptedModelOptions",
    "ScriptedToolCall",
    "VirtualClock",
  ]);
});
