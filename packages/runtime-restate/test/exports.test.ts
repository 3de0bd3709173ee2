import { expect, test } from "vitest";
import * as surface from "../src/index.ts";

test("G1: what the package offers is this and nothing else", () => {
  expect(Object.keys(surface).toSorted()).toEqual(["restateRuntime"]);
});
