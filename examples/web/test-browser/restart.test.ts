import { expect, test } from "vitest";
import { folder } from "../test/client.ts";
import { startFromSource as start } from "../test/program.ts";
import { answer, button, field, grown, isDone, lines, open, say, upTo, useBrowser } from "./browser.ts";

useBrowser();

/** What Chrome says of connections that break off. */
const complaints = /ERR_(?:INCOMPLETE_CHUNKED_ENCODING|CONNECTION_REFUSED|CONNECTION_RESET|EMPTY_RESPONSE)/;

/** The server, and the same one later. */
async function server() {
  const dir = await folder();
  const program = start("--dir", dir, "--port", "0");
  const { url } = await program.client();
  const again = (): Promise<unknown> => start("--dir", dir, "--port", new URL(url).port).client();
  return { url, kill: () => program.end("SIGKILL"), again };
}

test("the server is killed while a question is open: the page says so, and goes on by itself with the next one", async () => {
  const { url, kill, again } = await server();
  const page = await open(url, { complaints });
  await say(page, "hello");
  await answer(page).waitFor();
  await isDone(page);
  await say(page, "book a table");
  await button(page, /^Approve/).waitFor();
  await kill();
  await page.getByText("The connection is lost. Connecting again …").waitFor();
  await again();
  await page.getByText("The connection is lost").waitFor({ state: "detached" });
  await button(page, /^Approve/).click();
  await page.getByText("Done: booked").waitFor();
  await isDone(page);
  const shown = await lines(page);
  expect(shown.filter((line) => line.startsWith("user:"))).toEqual(["user: hello", "user: book a table"]);
  expect(shown.filter((line) => line.startsWith("tool:"))).toEqual([expect.stringContaining("→ booked")]);
});

test("the server is killed in the middle of an answer: the page has the whole answer of the next one, once", async () => {
  const { url, kill, again } = await server();
  const page = await open(url, { complaints });
  await say(page, "count to 300");
  await grown(page);
  await kill();
  await again();
  await isDone(page);
  expect(await lines(page)).toEqual(["user: count to 300", `assistant: ${upTo(300)}`]);
});

test("a message that does not reach the server stays in the field", async () => {
  const { url, kill, again } = await server();
  const page = await open(url, { complaints });
  await kill();
  await say(page, "hello");
  await page.getByText("The server cannot be reached.").waitFor();
  expect(await field(page).inputValue()).toBe("hello");
  await again();
  await field(page).press("Enter");
  await answer(page).waitFor();
});
