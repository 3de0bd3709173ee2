import { expect, test } from "vitest";
import * as orchestrator from "@ravi/orchestrator";

test("the package exports these names and no others", () => {
  expect(Object.keys(orchestrator).toSorted()).toEqual(["OrchestratorAgent"]);
});
