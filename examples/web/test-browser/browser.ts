import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished } from "vitest";
import { findChrome } from "../../../scripts/find-chrome.ts";
import { folder } from "../test/client.ts";
import { startFromSource as start } from "../test/program.ts";

let browser: Browser | undefined;

/** One browser for the tests of a file. */
export function useBrowser(): void {
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChrome() });
  });
  afterAll(() => browser?.close());
}

/** The server as a program, with its script instead of a model. */
export async function serve(): Promise<string> {
  const { url } = await start("--dir", await folder(), "--port", "0").client();
  return url;
}

/** Turns to another tab, or back. A browser without a screen takes all tabs for visible, so the page is told. */
export async function look(page: Page, isVisible: boolean): Promise<void> {
  await page.evaluate((isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, value: isHidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, !isVisible);
}

/** What the browser may complain about in its console. */
interface Allowed {
  readonly complaints?: RegExp | undefined;
}

/** Opens tabs that belong together, as those of one user do. At the end there must be no complaint in the console of any, and no dialog. */
export async function tabs(options: BrowserContextOptions & Allowed = {}): Promise<() => Promise<Page>> {
  const { complaints, ...rest } = options;
  if (browser === undefined) throw new Error("the file does not call useBrowser()");
  const context = await browser.newContext(rest);
  const problems: string[] = [];
  context.on("console", (line) => {
    if (["error", "warning"].includes(line.type())) problems.push(line.text());
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  context.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  onTestFinished(async () => {
    await context.close();
    expect(problems.filter((problem) => complaints?.test(problem) !== true)).toEqual([]);
  });
  return () => context.newPage();
}

/** The page in a tab of its own, when it has loaded the chat. */
export async function open(url: string, options: BrowserContextOptions & Allowed = {}): Promise<Page> {
  const page = await (await tabs(options))();
  await goto(page, url);
  return page;
}

export async function goto(page: Page, url: string): Promise<void> {
  const loaded = page.waitForResponse(/\/api\/chats\/[^/]+$/);
  await page.goto(url);
  await loaded;
}

/** Types a message and sends it with Enter, when the turn before it is over. */
export async function say(page: Page, text: string): Promise<void> {
  await isDone(page);
  await field(page).fill(text);
  await field(page).press("Enter");
}

export const field = (page: Page): Locator => page.getByRole("textbox", { name: "Message" });

export const button = (page: Page, name: string | RegExp): Locator => page.getByRole("button", { name });

/** Until the turn is over. */
export const isDone = (page: Page): Promise<void> => button(page, "Send").waitFor();

/** What stands in the conversation, without the buttons. */
export function lines(page: Page): Promise<string[]> {
  return page
    .getByRole("listitem")
    .evaluateAll((all) => all.map((li) => `${li.getAttribute("class")}: ${li.firstChild?.nodeValue}`));
}

export const answer = (page: Page): Locator => page.locator(".assistant").last();

/** Until the answer that is being written has more than this. Resolves with its text. */
export async function grown(page: Page, beyond = ""): Promise<string> {
  await page.waitForFunction(
    (length) => ([...document.querySelectorAll(".assistant")].at(-1)?.textContent.length ?? 0) > length,
    beyond.length,
  );
  return answer(page).innerText();
}

/** What has the focus. */
export const focused = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => document.activeElement?.ariaLabel ?? document.activeElement?.textContent);

export const upTo = (n: number): string => Array.from({ length: n }, (_, at) => at + 1).join(" ");
