import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConsoleMessage } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { PAYLOADS } from "../test/payloads.ts";
import { answer, button, isDone, lines, open, say, serve, tabs, useBrowser } from "./browser.ts";

useBrowser();

/** A turn whose every part is hostile, as its events. */
const EVENTS = PAYLOADS.flatMap((text) => [
  { type: "text", delta: text },
  { type: "toolCall", call: { id: text, name: text, arguments: text } },
  { type: "progress", name: "approvalRequested", callId: text, data: { name: text } },
  { type: "toolCall", call: { id: "c", name: text, arguments: text } },
  { type: "toolResult", callId: "c", content: text },
  { type: "error", error: { message: text } },
]);

test("T14: in a real browser too, what models, tools and errors say stays text", async () => {
  const page = await (await tabs())();
  const messages = PAYLOADS.map((text) => ({ role: "user", content: text }));
  await page.route("**/api/chats/tea", (route) => route.fulfill({ json: { messages, runId: "tea:0" } }));
  await page.route("**/events", (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body: EVENTS.map((event) => `data: ${JSON.stringify({ event })}\n\n`).join(""),
    }),
  );
  await page.goto(`${await serve()}/#tea`);
  const last = page.locator(".error").nth(PAYLOADS.length - 1);
  await last.waitFor();
  expect(await lines(page)).toEqual([
    ...PAYLOADS.map((text) => `user: ${text}`),
    ...PAYLOADS.flatMap((text) => [
      `assistant: ${text}`,
      `tool: ${text} ${text}`,
      `tool: ${text} ${text} → ${text}`,
      `error: ${text}`,
    ]),
  ]);
  const tags = await page.locator("#items *").evaluateAll((all) => all.map(({ tagName }) => tagName));
  expect(new Set(tags)).toEqual(new Set(["LI", "SPAN", "BUTTON"]));
  expect(await button(page, /^Deny/).count()).toBe(PAYLOADS.length);
});

test("T14: what the server really sends back stays text, and nothing of it is asked for", async () => {
  const page = await open(await serve());
  const asked: string[] = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const text of ["<img src=x onerror=alert(1)>", "</li><script>alert(1)</script>"]) {
    await say(page, text);
    await page.getByText(`You said "${text}"`).waitFor();
    await isDone(page);
  }
  await page.reload();
  await answer(page).waitFor();
  expect(await lines(page)).toHaveLength(4);
  expect(asked.filter((path) => !/^\/(?:api\/.*|\w+\.(?:js|css))?$/.test(path))).toEqual([]);
});

test("T14: no other site can show the page in a frame and have its buttons clicked", async () => {
  const url = await serve();
  const other = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end(`<iframe src="${url}/#tea"></iframe>`);
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const page = await (await tabs({ complaints: /frame-ancestors/ }))();
  const isRefusal = (line: ConsoleMessage): boolean => line.text().includes("frame-ancestors 'none'");
  await Promise.all([
    page.waitForEvent("console", isRefusal),
    page.goto(`http://localhost:${(other.address() as AddressInfo).port}`),
  ]);
  expect(await page.frameLocator("iframe").locator("button").count()).toBe(0);
});
