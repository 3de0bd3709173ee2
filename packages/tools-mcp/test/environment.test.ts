import { expect, test } from "vitest";
import { environmentOf } from "../src/stdio/environment.ts";

const own = { PATH: "/bin", HOME: "/home/ada", API_TOKEN: "x", SHELL: "() { :; }" };

test("a server gets a few variables, and those that are given in their place", () => {
  expect(environmentOf(own, { LEVEL: "7" }, false)).toEqual({ PATH: "/bin", HOME: "/home/ada", LEVEL: "7" });
  expect(environmentOf(own, { PATH: "/opt" }, false)).toMatchObject({ PATH: "/opt" });
  // Two variables, where letter case counts.
  expect(environmentOf(own, { Path: "/opt" }, false)).toMatchObject({ PATH: "/bin", Path: "/opt" });
});

test("on Windows, letter case does not count: the given one is not hidden by the other", () => {
  const windows = { PATH: "C:\\Windows", TEMP: "C:\\Temp", HOME: "C:\\Ada" };
  expect(environmentOf(windows, { Path: "C:\\Tools" }, true)).toEqual({
    TEMP: "C:\\Temp",
    Path: "C:\\Tools",
  });
});
