import { expect, test } from "vitest";
import { findChrome } from "../../../scripts/find-chrome.ts";

test("without a browser, it is said where it was looked for and what to do", () => {
  expect(() => findChrome(undefined, ["/no/chrome", "/no/chromium"])).toThrow(
    /^there is no browser at \/no\/chrome, \/no\/chromium; install Chrome or Chromium .* or set CHROME_PATH/,
  );
  expect(() => findChrome("/no/such", [process.execPath])).toThrow(/^there is no browser at \/no\/such;/);
  expect(findChrome(undefined, ["/no/chrome", process.execPath])).toBe(process.execPath);
});
