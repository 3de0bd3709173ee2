import { checkFields, InvalidValueError } from "@ravi/kernel";
import { expect, test } from "vitest";

const LONG = "x".repeat(1_000_000);

test("a message does not repeat a value of a megabyte, whatever it is", () => {
  for (const value of [LONG, 10n ** 5_000n, -(10n ** 5_000n), [LONG], { LONG }]) {
    const { message } = new InvalidValueError({ field: "a", value, expected: "less" });
    expect(message.length).toBeLessThan(200);
  }
  expect(new InvalidValueError({ field: "a", value: -12n, expected: "less" }).value).toBe("-12n");
});

test("nor the name of a field that nobody knows", () => {
  expect(() => checkFields("options", { [LONG]: 1 }, ["a"])).toThrow(
    /^options\.x{77}\.\.\. is 1; expected no such/,
  );
});
