import { expect, test } from "vitest";
import * as devtools from "@ravi/devtools";

test("the package exports what it says, and no more", () => {
  expect(Object.keys(devtools).toSorted()).toEqual(["openPage"]);
});
