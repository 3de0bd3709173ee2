import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { expect, expectTypeOf, test } from "vitest";
import * as provider from "../src/index.ts";

test("the package exports exactly these values", () => {
  expect(Object.keys(provider)).toEqual(["carefulFetch", "fromAiSdk"]);
});

test("models of all three versions fit, by the types of the AI SDK itself", () => {
  expectTypeOf<LanguageModelV2>().toExtend<provider.AiSdkModel>();
  expectTypeOf<LanguageModelV3>().toExtend<provider.AiSdkModel>();
  expectTypeOf<LanguageModelV4>().toExtend<provider.AiSdkModel>();
  expectTypeOf<{ specificationVersion: "v1" }>().not.toExtend<provider.AiSdkModel>();
});
