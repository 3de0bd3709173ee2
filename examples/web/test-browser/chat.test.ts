import { expect, test } from "vitest";
import {
  answer,
  button,
  field,
  focused,
  goto,
  grown,
  isDone,
  lines,
  look,
  open,
  say,
  serve,
  tabs,
  upTo,
  useBrowser,
} from "./browser.ts";

useBrowser();

test("a message is typed, sent and answered, and the field is ready for the next one", async () => {
  const page = await open(await serve());
  expect(await focused(page)).toBe("Message");
  await page.keyboard.type("count to 30");
  await page.keyboard.press("Enter");
  await answer(page).waitFor();
  await isDone(page);
  expect(await lines(page)).toEqual(["user: count to 30", `assistant: ${upTo(30)}`]);
  expect([await focused(page), await field(page).inputValue()]).toEqual(["Message", ""]);
  await field(page).fill("hello");
  await button(page, "Send").click();
  await page.getByText('Before that you said "count to 30".').waitFor();
  await isDone(page);
  expect(await focused(page)).toBe("Message");
});

test("an answer grows while it is written, survives a reload, and is stopped", async () => {
  const page = await open(await serve());
  await say(page, "count to 9000");
  const first = await grown(page);
  const second = await grown(page, first);
  expect(second.startsWith(first)).toBe(true);
  await page.reload();
  const third = await grown(page, second);
  expect(upTo(9000).startsWith(third)).toBe(true);
  await button(page, "Stop").click();
  await isDone(page);
  const [user, text, end, ...rest] = await lines(page);
  expect([user, end, rest]).toEqual(["user: count to 9000", "error: cancelled: stopped by the user", []]);
  expect(`assistant: ${upTo(9000)}`.startsWith(text ?? "none")).toBe(true);
  expect(await focused(page)).toBe("Message");
});

test("an empty message is not sent; while a slow server has not answered, nothing is sent twice and nothing typed is lost", async () => {
  const page = await open(await serve());
  const { promise: isSlow, resolve: goOn } = Promise.withResolvers<void>();
  let sent = 0;
  await page.route("**/messages", async (route) => {
    sent++;
    await isSlow;
    await route.continue();
  });
  await say(page, "  ");
  await say(page, "hello");
  await page.getByText("Sending …").waitFor();
  await page.keyboard.press("Enter");
  await page.keyboard.type(" you");
  expect(await field(page).inputValue()).toBe("hello");
  goOn();
  await answer(page).waitFor();
  await isDone(page);
  expect((await lines(page))[0]).toBe("user: hello");
  expect(sent).toBe(1);
});

test("two tabs with one chat show the same, and either may answer", async () => {
  const url = `${await serve()}/#tea`;
  const another = await tabs();
  const [first, second] = [await another(), await another()];
  await goto(first, url);
  await goto(second, url);
  await say(first, "what time is it");
  await second.getByText("Done:").waitFor();
  await say(second, "book a table");
  await button(first, /^Approve/).click();
  await second.getByText("Done: booked").waitFor();
  await Promise.all([isDone(first), isDone(second)]);
  expect(await lines(first)).toEqual(await lines(second));
  expect(await lines(first)).toHaveLength(7);
});

test("seven tabs whose turns wait: those that nobody looks at leave their connections to the others", async () => {
  const url = await serve();
  const another = await tabs();
  const first = await another();
  let page = first;
  for (let n = 0; n < 7; n++) {
    if (n > 0) page = await another();
    await goto(page, `${url}/#tea-${n}`);
    await say(page, "book a table");
    await button(page, /^Approve/).waitFor();
    await look(page, false);
  }
  await look(first, true);
  await button(first, /^Approve/).click();
  await first.getByText("Done: booked").waitFor();
  await isDone(first);
  expect(await lines(first)).toHaveLength(4);
});

test("seven tabs with one chat: those that nobody looks at hear of a turn, but follow it only when somebody does", async () => {
  const url = `${await serve()}/#tea`;
  const another = await tabs();
  const others = [];
  for (let n = 0; n < 6; n++) {
    const page = await another();
    await goto(page, url);
    await look(page, false);
    others.push(page);
  }
  const page = await another();
  await goto(page, url);
  await say(page, "book a table");
  // All of them know that a turn runs.
  for (const other of others) await button(other, "Stop").waitFor();
  await button(page, /^Approve/).click();
  await page.getByText("Done: booked").waitFor();
  for (const other of others) {
    await look(other, true);
    await other.getByText("Done: booked").waitFor();
  }
  await isDone(page);
  expect(await lines(page)).toHaveLength(4);
});

test("an address that names no chat opens a new one", async () => {
  const page = await open(`${await serve()}/#../../<img src=x>`);
  expect(new URL(page.url()).hash).toMatch(/^#[\w-]{36}$/);
  await say(page, "hello");
  await answer(page).waitFor();
});
