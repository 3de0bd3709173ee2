import { type Browser, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { findChrome } from "../../../scripts/find-chrome.ts";

let browser: Browser | undefined;

/** One browser for the tests of a file. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChrome() });
  });
  afterAll(() => browser?.close());
}

/** A tab at that address. At the end there must be no complaint in its console but those that are allowed. */
export async function tab(url: string, allowed = /^$/): Promise<Page> {
  if (browser === undefined) throw new Error("the file does not call useBrowser()");
  const context = await browser.newContext();
  const problems: string[] = [];
  context.on("console", (line) => {
    if (["error", "warning"].includes(line.type())) problems.push(line.text());
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  onTestFinished(async () => {
    await context.close();
    expect(problems.filter((problem) => !allowed.test(problem))).toEqual([]);
  });
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

export const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name });

/** Chooses a run by its agent. */
export const choose = (page: Page, agent: string): Promise<void> =>
  button(page, new RegExp(`^${agent}`))
    .first()
    .click();

/** What the table of agents says, a line for each. */
export const table = (page: Page): Promise<string[]> =>
  page.getByRole("table", { name: "Agents" }).getByRole("row").allInnerTexts();
