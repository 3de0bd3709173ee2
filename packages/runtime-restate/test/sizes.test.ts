import { describe, expect, test } from "vitest";
import { errorToJSON } from "@ravi/kernel";
import { bytesOf, checkSize, MOST, tooLarge } from "../src/sizes.ts";
import { asking } from "../src/execution/waits.ts";

describe("R24: what the server carries", () => {
  test("is counted in bytes, whatever its length", () => {
    expect(bytesOf("漢字")).toBe(2 * 3 + 2);
    expect(bytesOf({ a: "ü" })).toBe(10);
  });

  test("may be a result of 20 MB: it was paid for, and the server takes it", () => {
    expect(() => checkSize("the result", "x".repeat(20_000_000))).not.toThrow();
    expect(() => checkSize("the result", "x".repeat(MOST))).toThrow(/^the result is .* bytes/);
  });

  test("may be nothing at all, from code that no compiler has seen", () => {
    expect(() => checkSize("reply", undefined as never)).not.toThrow();
  });

  test("is an error for whoever asks a child for whose message there is no room", () => {
    const attempt = {
      start: { execId: "run", supervision: { agentId: "lead" } },
      context: { awakeable: () => ({ id: "told", promise: undefined }) },
      flush() {},
      from: () => ({ at: 1 }),
      send() {},
      answered: (promise: unknown) => promise,
    };
    const question = { key: "ask#1", child: "run/hire:a", content: "?", timeoutMs: undefined };
    const steps = asking(attempt as never, 1, question as never);
    steps.next();
    const refused = errorToJSON(tooLarge("ask.message", MOST + 1));
    expect(() => steps.next({ refused })).toThrow(/^ask\.message is /);
  });
});
