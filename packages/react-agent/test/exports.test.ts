import { expect, test } from "vitest";
import * as reactAgent from "@ravi/react-agent";

test("the package exports these names and no others", () => {
  expect(Object.keys(reactAgent).toSorted()).toEqual(["ReActAgent"]);
});
