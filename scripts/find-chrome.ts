import { existsSync } from "node:fs";

const PLACES = [
  "/usr/bin/google-chrome",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Where the browser is, for the tests that need one. */
export function findChrome(chosen = process.env["CHROME_PATH"], places: readonly string[] = PLACES): string {
  const tried = chosen === undefined ? places : [chosen];
  const found = tried.find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(
      `there is no browser at ${tried.join(", ")}; install Chrome or Chromium ` +
        `(Debian: apt-get install chromium) or set CHROME_PATH to its program`,
    );
  return found;
}
