import { expect, test } from "vitest";
import * as supervision from "@ravi/supervision";

test("the package exports what it says, and no more", () => {
  expect(Object.keys(supervision).toSorted()).toEqual(["RetryPolicy", "SpawnTracker"]);
});
