import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { toToolResult } from "@ravi/kernel/loop";
import { isError } from "../src/core/is-error.ts";

test.each([
  ["an error", new RangeError("x"), true],
  ["an error of another realm", runInNewContext("new TypeError('x')"), true],
  ["the reason of an aborted signal", AbortSignal.abort().reason, true],
  ["such a reason of another realm", { [Symbol.toStringTag]: "DOMException" }, true],
  ["a plain object that looks like one", { name: "Error", message: "x" }, false],
  ["a text", "Error: x", false],
  ["nothing", null, false],
  ["an object that throws when it is asked", hostile(), false],
  ["a proxy that answers nothing", new Proxy({}, { get: refuse, getPrototypeOf: refuse }), false],
])("whether a value is an error: %s", (_, value: unknown, expected) => {
  expect(isError(value)).toBe(expected);
});

function refuse(): never {
  throw new Error("no");
}

function hostile(): object {
  return {
    get [Symbol.toStringTag](): string {
      throw new Error("no");
    },
  };
}

test("an error of another realm that a tool returns is told to the model as a failure", () => {
  expect(toToolResult(runInNewContext("new Error('no such file')"))).toEqual({
    content: "error: no such file",
    isError: true,
  });
});
