import { expect, test } from "vitest";
import { Client } from "../test/client.ts";
import { grown, isDone, lines, look, open, say, serve, useBrowser } from "./browser.ts";

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
