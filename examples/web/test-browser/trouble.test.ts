import type { Page, Route } from "playwright-core";
import { expect, test, vi } from "vitest";
import { Client } from "../test/client.ts";
import {
  answer,
  button,
  field,
  goto,
  grown,
  isDone,
  lines,
  look,
  open,
  say,
  serve,
  tabs,
  useBrowser,
} from "./browser.ts";

useBrowser();

test("a turn that fails while nobody looks is shown when somebody does", async () => {
  const url = await serve();
  const page = await open(`${url}/#tea`);
  await say(page, "count to 9000");
  await grown(page);
  await look(page, false);
  await new Client(url).post("/api/runs/tea:0/stop", {});
  await look(page, true);
  await isDone(page);
  const [user, , end] = await lines(page);
  expect([user, end]).toEqual(["user: count to 9000", "error: cancelled: stopped by the user"]);
});

test("the error page of a proxy is told as such, and the message stays in the field", async () => {
  const page = await open(await serve(), { complaints: /status of 502/ });
  const errorPage = { status: 502, contentType: "text/html", body: "<h1>Bad Gateway</h1>" };
  await page.route("**/messages", (route) => route.fulfill(errorPage), { times: 1 });
  await say(page, "hello");
  await page.getByText("The answer, with status 502, cannot be read.").waitFor();
  expect(await field(page).inputValue()).toBe("hello");
  await field(page).press("Enter");
  await answer(page).waitFor();
});

/** Tells the page what another tab tells that begins a turn. */
function announce(page: Page): Promise<void> {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel is of one origin
  return page.evaluate(() => new BroadcastChannel("chat tea").postMessage("tea:0"));
}

const status = (page: Page): Promise<string | null> => page.getByRole("status").textContent();

test("a message that reached the server although its answer was lost: the page says so and shows its turn", async () => {
  const page = await open(await serve(), { complaints: /ERR_FAILED/ });
  const loseAnswer = async (route: Route): Promise<void> => {
    await route.fetch();
    await route.abort();
  };
  await page.route("**/messages", loseAnswer, { times: 1 });
  await say(page, "book a table");
  await button(page, /^Approve/).waitFor();
  expect(await field(page).inputValue()).toBe("book a table");
  expect(await status(page)).toBe("The server cannot be reached.");
  await button(page, /^Approve/).click();
  await page.getByText("Done: booked").waitFor();
  await isDone(page);
  expect(await status(page)).toBe("");
});

test("a message while a turn of another browser runs is refused, and that turn is shown", async () => {
  const url = await serve();
  const page = await open(`${url}/#tea`, { complaints: /status of 409/ });
  await new Client(url).say("tea", "book a table");
  await say(page, "hello");
  await button(page, /^Approve/).waitFor();
  expect(await field(page).inputValue()).toBe("hello");
  expect(await status(page)).toContain("one whose turn has ended");
});

test("while the server cannot be reached it is asked once a second, however often there is something to read", async () => {
  const page = await (await tabs())();
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 1_000);
  await page.addInitScript(() => {
    sessionStorage["asked"] = 0;
    globalThis.fetch = () => {
      sessionStorage["asked"]++;
      return Promise.reject(new TypeError("no network"));
    };
  });
  const asked = (): Promise<unknown> => page.evaluate(() => Number(sessionStorage["asked"]));
  await page.goto(`${await serve()}/#tea`);
  await page.getByText("Trying again …").waitFor();
  for (let n = 0; n < 5; n++) await announce(page);
  await vi.waitUntil(async () => (await asked()) === 6, 30_000);
  await page.clock.runFor(1_000);
  expect(await asked()).toBe(7);
});

test("a turn that has begun and ended while the page was still reading is shown", async () => {
  const page = await (await tabs())();
  const { promise: isSlow, resolve: goOn } = Promise.withResolvers<void>();
  const readSlowly = async (route: Route): Promise<void> => {
    const response = await route.fetch();
    await isSlow;
    await route.fulfill({ response });
  };
  await page.route("**/api/chats/tea", readSlowly, { times: 1 });
  const isRead = page.waitForRequest("**/api/chats/tea");
  await page.goto(`${await serve()}/#tea`);
  await isRead;
  await say(page, "hello");
  await answer(page).waitFor();
  await isDone(page);
  const isReadAgain = page.waitForRequest("**/api/chats/tea");
  goOn();
  await isReadAgain;
  expect((await lines(page))[0]).toBe("user: hello");
});

test("when the record says that the turn is over, no more of it is added", async () => {
  const page = await (await tabs())();
  await page.addInitScript(() => {
    globalThis.EventSource = class extends EventSource {
      override close(): void {
        super.close();
        document.body.dataset["closed"] = this.url;
      }
    };
  });
  await goto(page, `${await serve()}/#tea`);
  await say(page, "count to 9000");
  await grown(page);
  const messages = [{ role: "user", content: "count to 9000" }];
  await page.route("**/api/chats/tea", (route) => route.fulfill({ json: { messages, runId: null } }));
  await announce(page);
  await isDone(page);
  expect(await page.evaluate(() => document.body.dataset["closed"])).toContain("tea:0");
  expect(await lines(page)).toEqual(["user: count to 9000"]);
});
