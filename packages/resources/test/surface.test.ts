import { expect, test } from "vitest";
import * as resources from "@ravi/resources";

test("the package exports these names and no others", () => {
  expect(Object.keys(resources).toSorted()).toEqual([
    "DEFAULT_MAX_OUTPUT_TOKENS",
    "ExecutionTracker",
    "FILE_TOKENS",
    "FairPool",
    "IMAGE_TOKENS",
    "ModelMeter",
    "PriceBook",
    "actualOf",
    "estimateTokens",
    "reserveAll",
    "restoreLedgers",
    "spendOf",
  ]);
});
