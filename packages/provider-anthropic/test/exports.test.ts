import { expect, test } from "vitest";
import * as provider from "@ravi/provider-anthropic";

test("the exports of @ravi/provider-anthropic are these", () => {
  expect(Object.keys(provider).toSorted()).toEqual(["anthropic"]);
});
