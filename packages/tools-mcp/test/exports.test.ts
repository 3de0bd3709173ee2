import { expect, test } from "vitest";
import * as toolsMcp from "../src/index.ts";

test("the package exports these names", () => {
  expect(Object.keys(toolsMcp).toSorted()).toEqual(["joinTools", "mcpTools", "openMcp"]);
});
