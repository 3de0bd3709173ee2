import { expect, test } from "vitest";
import {
  button,
  field,
  focused,
  goto,
  isDone,
  lines,
  open,
  say,
  serve,
  tabs,
  useBrowser,
} from "./browser.ts";

useBrowser();

const NINETEEN = 'book_table {"guests":2,"time":"19:00"}';
const TWENTY_ONE = 'book_table {"guests":2,"time":"21:00"}';

test("one table is approved, the other is denied; a question that was answered has no buttons", async () => {
  const page = await open(await serve());
  await say(page, "book two tables");
  await button(page, `Deny ${TWENTY_ONE}`).click();
  await button(page, `Deny ${TWENTY_ONE}`).waitFor({ state: "detached" });
  expect(await button(page, `Approve ${TWENTY_ONE}`).count()).toBe(0);
  await button(page, `Approve ${NINETEEN}`).click();
  await page.getByText("Done:").waitFor();
  await isDone(page);
  expect((await lines(page)).slice(2, 4)).toEqual([
    expect.stringContaining(`tool: ${NINETEEN} → booked for 2 at 19:00`),
    `tool: ${TWENTY_ONE} → error: book_table was not approved`,
  ]);
  expect(await button(page, /Approve|Deny/).count()).toBe(0);
});

test("an answer that does not reach the server can be given again", async () => {
  const page = await open(await serve(), { complaints: /ERR_FAILED/ });
  await page.route("**/answers", (route) => route.abort(), { times: 1 });
  await say(page, "book a table");
  await button(page, /^Approve/).click();
  await page.getByText("The server cannot be reached.").waitFor();
  await button(page, /^Approve/).click();
  await page.getByText("Done: booked").waitFor();
  expect((await lines(page)).filter((line) => line.startsWith("tool:"))).toHaveLength(1);
});

test("all of it can be done with the keyboard, and the focus is never lost", async () => {
  const page = await open(await serve());
  const press = async (key: string): Promise<string | undefined> => {
    await page.keyboard.press(key);
    return focused(page);
  };
  await page.keyboard.type("book two tables");
  await page.keyboard.press("Enter");
  await button(page, `Deny ${TWENTY_ONE}`).waitFor();
  expect(await press("Shift+Tab")).toBe(`Deny ${TWENTY_ONE}`);
  expect(await press("Enter")).toBe(TWENTY_ONE);
  expect(await press("Shift+Tab")).toBe(`Deny ${NINETEEN}`);
  expect(await press("Shift+Tab")).toBe(`Approve ${NINETEEN}`);
  // Perhaps with its result already.
  expect((await press("Space"))?.startsWith(NINETEEN)).toBe(true);
  await isDone(page);
  expect(await focused(page)).toContain(`${NINETEEN} → booked`);
  expect(await press("Tab")).toBe("Message");
  await page.keyboard.type("count to 9000");
  await page.keyboard.press("Enter");
  await button(page, "Stop").waitFor();
  expect(await press("Tab")).toBe("Stop");
  await page.keyboard.press("Enter");
  await page.getByText("cancelled: stopped by the user").waitFor();
  expect(await focused(page)).toBe("Message");
  expect(await field(page).inputValue()).toBe("");
});

test("a question that was answered in another tab is not asked again here", async () => {
  const url = `${await serve()}/#tea`;
  const another = await tabs({ complaints: /status of 409/ });
  const [first, second] = [await another(), await another()];
  await goto(first, url);
  await goto(second, url);
  await say(first, "book two tables");
  await button(second, `Deny ${TWENTY_ONE}`).waitFor();
  const isAnswered = first.waitForResponse("**/answers");
  await button(first, `Approve ${TWENTY_ONE}`).click();
  await isAnswered;
  await button(second, `Deny ${TWENTY_ONE}`).click();
  await second.getByText("it was answered already").waitFor();
  expect(await button(second, /Approve|Deny/).count()).toBe(2);
  await button(second, `Approve ${NINETEEN}`).click();
  await second.getByText("Done: booked").waitFor();
});
