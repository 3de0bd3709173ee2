import { expect, test } from "vitest";
import { errorToJSON, type JsonValue, ToolError } from "@ravi/kernel";
import { listedError } from "@ravi/kernel/loop";

test("R24: of an error, the list of runs has its code and its message, which it cuts", () => {
  const of = (message: string) => listedError(errorToJSON(new ToolError({ toolName: "pay", message })));
  expect(of("no")).toEqual({ code: "TOOL_ERROR", message: "no" });
  expect(of("x".repeat(1_000))?.message).toBe("x".repeat(1_000));
  expect(of("x".repeat(1_001))?.message).toBe(`${"x".repeat(1_000)}…`);
  expect(listedError(errorToJSON(new TypeError("of no known kind")))).toEqual({
    code: null,
    message: "of no known kind",
  });
});

test.each<JsonValue | undefined>([undefined, null, "text", 7, [], {}, { code: "TOOL_ERROR", message: 7 }])(
  "R24: what has no message is no error in the list of runs: %j",
  (error) => {
    expect(listedError(error)).toBeUndefined();
  },
);
