import { expect, test } from "vitest";
import { Client } from "../test/client.ts";
import { answer, field, grown, isDone, lines, look, open, say, serve, useBrowser } from "./browser.ts";

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
