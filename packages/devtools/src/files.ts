import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";

const SCRIPT = "text/javascript; charset=utf-8";

const TYPES: Readonly<Record<string, string>> = {
  "/": "text/html; charset=utf-8",
  "/page.css": "text/css; charset=utf-8",
  "/icon.svg": "image/svg+xml",
  "/api.js": SCRIPT,
  "/dom.js": SCRIPT,
  "/list.js": SCRIPT,
  "/log.js": SCRIPT,
  "/main.js": SCRIPT,
  "/run.js": SCRIPT,
  "/view.js": SCRIPT,
  "/waits.js": SCRIPT,
};

/**
 * Nothing from elsewhere, no script or style in the page itself, and no text that becomes one: what a model writes stays text. No other site
 * shows the page in a frame, where it could lead somebody to click "Approve" without knowing.
 */
export const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

/** Sends a file of the page. Returns whether there is one. They have no secrets in them, so they need no key. */
export async function sendFile(response: ServerResponse, path: string): Promise<boolean> {
  const type = Object.hasOwn(TYPES, path) ? TYPES[path] : undefined;
  if (type === undefined) return false;
  const name = path === "/" ? "index.html" : path.slice(1);
  // The same place from `src` and from `dist`.
  const body = await readFile(new URL(`../src/page/${name}`, import.meta.url));
  response.writeHead(200, { ...HEADERS, "content-type": type }).end(body);
  return true;
}
