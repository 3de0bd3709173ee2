import { expect, test } from "vitest";
import * as provider from "@ravi/provider-openai";

test("the exports of @ravi/provider-openai are these", () => {
  expect(Object.keys(provider).toSorted()).toEqual(["openai"]);
});
