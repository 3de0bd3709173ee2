import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { answer, button, field, grown, isDone, lines, open, say, serve, useBrowser } from "./browser.ts";

useBrowser();

test("an answer in thousands of pieces makes one element", async () => {
  const page = await open(await serve());
  await page.evaluate(() => {
    let elements = 0;
    const observer = new MutationObserver((changes) => {
      for (const { addedNodes } of changes)
        for (const node of addedNodes) if (node instanceof Element) elements++;
      document.body.dataset["elements"] = String(elements);
    });
    observer.observe(document.body, { childList: true, subtree: true });
  });
  const text = "a word ".repeat(5_000);
  await say(page, text);
  await answer(page).waitFor();
  await isDone(page);
  const [user, said = ""] = await lines(page);
  // Not shown if it fails: they are long.
  expect([user === `user: ${text}`, said.startsWith(`assistant: You said "${text}"`)]).toEqual([true, true]);
  expect(await page.evaluate(() => document.body.dataset["elements"])).toBe("2");
});

test("what the user has selected stays selected while the answer is written", async () => {
  const page = await open(await serve());
  await say(page, "count to 9000");
  const before = await grown(page);
  await page.evaluate(() => getSelection()?.selectAllChildren(document.querySelector(".user") ?? document));
  await grown(page, before);
  expect(await page.evaluate(() => getSelection()?.toString().trim())).toBe("count to 9000");
});

/** How far the end of the page is below what can be seen, in pixels. */
const toEnd = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const { scrollHeight, scrollTop, clientHeight } = document.documentElement;
    return scrollHeight - scrollTop - clientHeight;
  });

test("the page stays at its end while an answer is written, unless the user scrolls up; the field is always in view", async () => {
  const page = await open(await serve(), { viewport: { width: 400, height: 300 } });
  const isLonger = (height: number): Promise<unknown> =>
    page.waitForFunction((least) => document.documentElement.scrollHeight > least, height);
  await say(page, "count to 9000");
  await isLonger(500);
  expect(await toEnd(page)).toBeLessThan(20);
  await page.mouse.move(100, 100);
  await page.mouse.wheel(0, -150);
  await page.waitForFunction(
    () => document.documentElement.scrollTop < document.documentElement.scrollHeight - 400,
  );
  const before = await page.evaluate(() => document.documentElement.scrollTop);
  await isLonger(700);
  expect(await page.evaluate(() => document.documentElement.scrollTop)).toBe(before);
  const box = await field(page).boundingBox();
  expect((box?.y ?? 300) + (box?.height ?? 300)).toBeLessThanOrEqual(300);
  await button(page, "Stop").click();
  await isDone(page);
  await say(page, "hello");
  await page.getByText('You said "hello"').waitFor();
  await isDone(page);
  expect(await toEnd(page)).toBeLessThan(20);
});

test("on a screen of 320 pixels everything has room, whatever is said", async () => {
  const page = await open(await serve(), { viewport: { width: 320, height: 480 } });
  await say(page, "x".repeat(500));
  await answer(page).waitFor();
  await isDone(page);
  await say(page, "book two tables");
  await button(page, /^Deny/).nth(1).waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  for (const each of [field(page), button(page, "Stop"), button(page, /^Deny/).nth(1)]) {
    const { x = -1, width = 999 } = (await each.boundingBox()) ?? {};
    expect(x).toBeGreaterThanOrEqual(0);
    expect(x + width).toBeLessThanOrEqual(320);
  }
});

test.each(["light", "dark"] as const)("what is said can be read well in %s", async (colorScheme) => {
  const page = await open(await serve(), { colorScheme });
  await say(page, "what time is it");
  await answer(page).waitFor();
  await isDone(page);
  await say(page, "count to 9000");
  await grown(page);
  await button(page, "Stop").click();
  await page.locator(".error").waitFor();
  const colors = await page.evaluate(() => {
    const of = (selector: string, name: string): string =>
      getComputedStyle(document.querySelector(selector) ?? document.body).getPropertyValue(name);
    return {
      background: of("body", "background-color"),
      texts: [".user", ".assistant", ".tool", ".error", "#status"].map((selector) => of(selector, "color")),
    };
  });
  const ground = luminance(colors.background);
  expect(ground < 0.5).toBe(colorScheme === "dark");
  for (const color of colors.texts) {
    const [low = 0, high = 0] = [ground, luminance(color)].toSorted((a, b) => a - b);
    // WCAG 2, level AA.
    const ratio = (high + 0.05) / (low + 0.05);
    expect({ color, ratio, isEnough: ratio >= 4.5 }).toMatchObject({ isEnough: true });
  }
});

/** How light a color is, from 0 to 1, as WCAG defines it. */
function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((part) => {
    const share = Number(part) / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test("a screen reader is told who speaks, what a button is for, and an answer when it is whole", async () => {
  const page = await open(await serve());
  const list = page.getByRole("list", { name: "Conversation" });
  expect(await list.getAttribute("aria-live")).toBe("polite");
  await say(page, "count to 9000");
  await grown(page);
  expect(await list.getAttribute("aria-busy")).toBe("true");
  await button(page, "Stop").click();
  await isDone(page);
  expect(await list.getAttribute("aria-busy")).toBe("false");
  await say(page, "book a table");
  await button(page, /^Deny/).waitFor();
  expect(await list.getAttribute("aria-busy")).toBe("false");
  const tree = await page.getByRole("main").ariaSnapshot();
  for (const part of [
    'heading "Concierge"',
    'listitem: "You: book a table"',
    'listitem: "Concierge: One moment."',
    'button "Approve book_table',
    'textbox "Message"',
    "- status",
  ])
    expect(tree.replaceAll('\\"', '"')).toContain(part);
});
