import { expect, test } from "vitest";
import * as flow from "@ravi/flow";

test("the package exports these names and no others", () => {
  expect(Object.keys(flow).toSorted()).toEqual([
    "ConditionalFlow",
    "InformationAgent",
    "ParallelFlow",
    "SequentialFlow",
  ]);
});
