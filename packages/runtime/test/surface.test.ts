import { expect, test } from "vitest";
import * as runtime from "@ravi/runtime";

test("the exports of @ravi/runtime are these", () => {
  expect(Object.keys(runtime).toSorted()).toEqual([
    "MemoryJournal",
    "Runtime",
    "SqliteJournal",
    "createRunContext",
    "getRunScope",
    "wallClock",
  ]);
});
