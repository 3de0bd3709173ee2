import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { queryObjects } from "node:v8";
import { conversation, textOf } from "@ravi/sdk";
import { expect, onTestFinished, test } from "vitest";
import { addEvent, type Item, itemsOf, itemsOfTurn } from "../public/view.js";
import { Chats } from "../src/chats.ts";
import { concierge } from "../src/concierge.ts";
import { sendEvents } from "../src/http.ts";
import { Turn } from "../src/turn.ts";
import { type Client, folder, questionIn, runEvent, serve, type ServerEvent, textIn } from "./client.ts";

/** Reads a run to its end, and answers its questions. */
async function follow(client: Client, runId: string, approved?: boolean): Promise<readonly ServerEvent[]> {
  const list: ServerEvent[] = [];
  for await (const event of client.watch(runId)) {
    list.push(event);
    const name = event.event === undefined ? questionIn(event) : undefined;
    if (name !== undefined)
      await client.post(`/api/runs/${runId}/answers`, { name, approved, reason: "too late" });
  }
  return list;
}

const numbers = (list: readonly ServerEvent[]): number[] =>
  list.filter(({ event }) => event === undefined).map((event) => runEvent(event).seq);

const upTo = (n: number): number[] => Array.from({ length: n }, (_, at) => at + 1);

test("a message is answered, word by word, and remembered", async () => {
  const client = await serve();
  const runId = await client.say("tea", "count to 12");
  const list = await follow(client, runId);
  expect(list.at(-1)).toMatchObject({ event: "end" });
  expect(numbers(list)).toEqual(upTo(list.length - 1));
  expect(textIn(list)).toBe(upTo(12).join(" "));
  expect(
    list.filter((event) => event.event === undefined && runEvent(event).event.type === "text").length,
  ).toBeGreaterThan(2);
  await follow(client, await client.say("tea", "hello"));
  const { messages, runId: current } = await client.chat("tea");
  expect(current).toBeNull();
  expect(textOf(messages.at(-1) ?? { content: "" })).toBe(
    'You said "hello". Before that you said "count to 12".',
  );
  expect((await client.chat("coffee")).messages).toEqual([]);
});

test("a turn that came to no answer is still there after a reload, and after a restart, until another is answered", async () => {
  const dir = await folder();
  const client = await serve(dir);
  await follow(client, await client.say("tea", "hello"));
  for (const text of ["count to 9000", "count to 9001"]) {
    const runId = await client.say("tea", text);
    await client.post(`/api/runs/${runId}/stop`, {});
    await follow(client, runId);
  }
  const shown = async (of: Client): Promise<unknown> => (await of.chat("tea")).lost.map(itemsOfTurn);
  const stopped = { kind: "error", text: "cancelled: stopped by the user" };
  const both = [
    [{ kind: "user", text: "count to 9000" }, stopped],
    [{ kind: "user", text: "count to 9001" }, stopped],
  ];
  expect(await shown(client)).toEqual(both);
  expect(await shown(await serve(dir))).toEqual(both);
  await follow(client, await client.say("tea", "hello again"));
  expect(await shown(client)).toEqual([]);
  expect((await client.chat("coffee")).lost).toEqual([]);
});

test("who loses the connection again and again misses nothing and gets nothing twice", async () => {
  const client = await serve();
  const runId = await client.say("tea", "count to 40");
  const list: ServerEvent[] = [];
  for (let rounds = 0; list.at(-1)?.event !== "end"; rounds++) {
    let heard = 0;
    for await (const event of client.watch(runId, list.at(-1)?.id)) {
      list.push(event);
      // Leaves in the middle of the stream.
      if (++heard === 4) break;
    }
    expect(rounds).toBeLessThan(100);
  }
  expect(numbers(list)).toEqual(upTo(list.length - 1));
  expect(textIn(list)).toBe(upTo(40).join(" "));
  // Who comes when all is over gets all of it, and only the rest with an id.
  const again = await follow(client, runId);
  expect(again).toEqual(list);
  const rest: ServerEvent[] = [];
  for await (const event of client.watch(runId, list.at(-4)?.id)) rest.push(event);
  expect(rest).toEqual(list.slice(-3));
});

test.each(["another-list-3", "3", "", "-", "x-y", `${"0".repeat(36)}--1`])(
  "the id %j of no event of this run: all of them come, after a reset",
  async (id) => {
    const client = await serve();
    const runId = await client.say("tea", "hello");
    const list = await follow(client, runId);
    const again: ServerEvent[] = [];
    for await (const event of client.watch(runId, id)) again.push(event);
    expect(again).toEqual([{ event: "reset", data: "{}" }, ...list]);
  },
);

test.each([
  [{ host: "evil.example" }, 403],
  [{ host: "127.0.0.1.evil.example" }, 403],
  [{ host: "localhost:1", origin: "https://evil.example" }, 403],
  [{ host: "localhost:1", origin: "null" }, 403],
  [{ host: "localhost:1", origin: "http://localhost:3000" }, 200],
])("T14: a page on another site is refused: %j", async (headers, status) => {
  const client = await serve();
  const request = get(`${client.url}/api/chats/tea`, { headers });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(status);
});

test("a run that is not known here has no events, and a browser does not try again", async () => {
  const client = await serve();
  expect((await fetch(`${client.url}/api/runs/tea:0/events`)).status).toBe(204);
  expect((await client.post("/api/runs/tea:0/stop", {})).status).toBe(404);
});

test.each([
  [true, /Done: booked for 2 at 19:00 \(.+\)\./],
  [false, /Done: error: book_table was not approved: too late\./],
])("a table is booked only if that is approved (%s)", async (approved, said) => {
  const client = await serve();
  const runId = await client.say("tea", "book a table");
  const list = await follow(client, runId, approved);
  expect(textIn(list)).toMatch(said);
  const question = list
    .slice(0, -1)
    .map((event) => runEvent(event).event)
    .find(({ type }) => type === "progress");
  const call = list
    .slice(0, -1)
    .map((event) => runEvent(event).event)
    .find(({ type }) => type === "toolCall");
  expect(question).toMatchObject({
    name: "approvalRequested",
    callId: call?.type === "toolCall" && call.call.id,
  });
});

test("an answer to no question, and a second one, are refused", async () => {
  const client = await serve();
  const runId = await client.say("tea", "book a table");
  const answer = (name: string) => client.post(`/api/runs/${runId}/answers`, { name, approved: true });
  for await (const event of client.watch(runId)) {
    const name = event.event === undefined ? questionIn(event) : undefined;
    if (name === undefined) continue;
    expect((await answer("approval:tea:0:tool:other#1")).status).toBe(409);
    expect((await client.post(`/api/runs/${runId}/answers`, { name, approved: "yes" })).status).toBe(400);
    const twice = await Promise.all([answer(name), answer(name)]);
    expect(new Set(twice.map(({ status }) => status))).toEqual(new Set([200, 409]));
  }
  const { messages } = await client.chat("tea");
  expect(messages.filter(({ role }) => role === "tool")).toHaveLength(1);
});

test("stop ends the answer at once, for everybody who watches, and the chat goes on", async () => {
  const client = await serve();
  const runId = await client.say("tea", "count to 9000");
  const list: ServerEvent[] = [];
  const second = follow(client, runId);
  let stopped: ReturnType<Client["post"]> | undefined;
  for await (const event of client.watch(runId)) {
    list.push(event);
    if (textIn(list) !== "") stopped ??= client.post(`/api/runs/${runId}/stop`, {});
  }
  expect(await stopped).toMatchObject({ status: 200, json: { status: "cancelled" } });
  expect(list.at(-1)?.event).toBe("end");
  expect(textIn(list)).not.toContain("9000");
  expect(await second).toEqual(list);
  expect(await client.chat("tea")).toEqual({ runId: null, messages: [], lost: [expect.any(Array)] });
  expect(textIn(await follow(client, await client.say("tea", "hello")))).toContain("the first thing");
});

test("a second message has to wait until the first is answered", async () => {
  const client = await serve();
  const runId = await client.say("tea", "book a table");
  const busy = await client.post("/api/chats/tea/messages", { text: "hello" });
  expect(busy).toMatchObject({ status: 409, json: { error: expect.stringContaining("busy") as string } });
  expect(await client.chat("tea")).toEqual({ runId, messages: [], lost: [] });
  expect(await client.say("coffee", "hello")).toBe("coffee:0");
});

test("of two servers with one journal, one has the turn, and the other says that the chat is busy", async () => {
  const dir = await folder();
  const clients = [await serve(dir), await serve(dir)];
  for (let n = 0; n < 5; n++) {
    const path = `/api/chats/tea-${n}/messages`;
    const said = await Promise.all(clients.map((client) => client.post(path, { text: "book a table" })));
    expect(new Set(said.map(({ status }) => status))).toEqual(new Set([202, 409]));
  }
});

test.each([
  ["/api/chats/tea/messages", "application/json", "{}", 400],
  ["/api/chats/tea/messages", "application/json", "no JSON", 400],
  ["/api/chats/tea/messages", "text/plain", '{"text":"hello"}', 415],
  ["/api/chats/tea/messages", "application/json", JSON.stringify({ text: "x".repeat(1_000_000) }), 413],
  ["/api/chats/a%2Fb/messages", "application/json", '{"text":"hello"}', 404],
  ["/api/%/", "application/json", "{}", 404],
  ["/api/chat", "application/json", '{"id":"tea","messages":[]}', 400],
  ["/api/chat", "application/json", '{"messages":[]}', 400],
])("what is no message is refused: POST %s, %s", async (path, type, body, status) => {
  const { url } = await serve();
  const response = await fetch(`${url}${path}`, { method: "POST", headers: { "content-type": type }, body });
  expect(response.status).toBe(status);
  expect(((await response.json()) as { error: string }).error).not.toBe("");
});

test("the page and all that it asks for are served, and nothing else", async () => {
  const { url } = await serve();
  const page = await fetch(`${url}/`);
  const html = await page.text();
  expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
  // In a frame of another site, a click on "Approve" could be made to look like something else.
  expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  const files = [
    "/",
    ...Array.from(html.matchAll(/(?:src|href)="([\w.]+)"/g), ([, file]) => `/${file}`),
    "/list.js",
    "/view.js",
  ];
  expect(files).toContain("/page.js");
  for (const file of files) {
    const response = await fetch(`${url}${file}`);
    expect([file, response.status]).toEqual([file, 200]);
    await response.body?.cancel();
  }
  const script = await readFile(new URL("../public/page.js", import.meta.url), "utf8");
  // What stands in an address leads to no other route.
  expect(script).not.toContain("/${chatId}");
  for (const [, id = ""] of script.matchAll(/element\("(\w+)"\)/g)) expect(html).toContain(`id="${id}"`);
  for (const other of ["/package.json", "/..%2fpackage.json", "/src/main.ts"])
    expect((await fetch(`${url}${other}`)).status).toBe(404);
});

test("who asks for the chat while a turn ends sees each message once", async () => {
  const client = await serve();
  await follow(client, await client.say("tea", "hello"));
  const runId = await client.say("tea", "count to 9");
  for (let current: string | null = runId; current !== null;) {
    const { messages, runId: now } = await client.chat("tea");
    expect([now, messages.length]).toEqual(now === null ? [null, 4] : [runId, 2]);
    current = now;
  }
});

test("a turn that a limit has stopped says so, where there would be no answer at all", async () => {
  const client = await serve();
  let items: Item[] = [];
  // Each turn sends all that was said before.
  for (let n = 0; n < 6; n++) {
    items = [];
    for await (const event of client.watch(await client.say("tea", "x".repeat(50_000))))
      if (event.event === undefined) addEvent(items, runEvent(event));
  }
  expect(items.slice(1)).toEqual([{ kind: "error", text: "stopped early: budget" }]);
});

test("the page shows the same while it watches and after it is loaded again", async () => {
  const client = await serve();
  let past: Item[] = [];
  for (const text of ["what time is it", "book two tables", "hello"]) {
    const present: Item[] = [];
    let asked = 0;
    for await (const event of client.watch(await client.say("tea", text))) {
      if (event.event !== undefined) continue;
      addEvent(present, runEvent(event));
      for (const item of present) {
        if (item.kind !== "tool" || item.question === undefined) continue;
        const { question: name } = item;
        delete item.question;
        asked++;
        await client.post(`/api/runs/${runEvent(event).execId}/answers`, { name, approved: true });
      }
    }
    expect(asked).toBe(text.startsWith("book") ? 2 : 0);
    past = [...past, ...present];
  }
  const { messages } = await client.chat("tea");
  expect(past).toEqual(itemsOf(messages));
  expect(past.map(({ kind }) => kind)).toEqual([
    "user",
    "tool",
    "assistant",
    "user",
    "assistant",
    "tool",
    "tool",
    "assistant",
    "user",
    "assistant",
  ]);
});

test.each(["//", "/\\", "*"])("a path that is none is not found: %j", async (path) => {
  const { port } = new URL((await serve()).url);
  const [response] = (await once(get({ port, path }), "response")) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(404);
});

test("who has left before the events begin is not waited for", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer((_, response) => {
    const send = async () => {
      await once(response, "close");
      await sendEvents(response, {}, async function* (left) {
        try {
          yield "data: {}\n\n";
        } finally {
          resolve(left.aborted);
        }
      });
    };
    void send();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const request = get({ port: (server.address() as AddressInfo).port });
  request.on("error", () => {});
  await once(server, "request");
  request.destroy();
  expect(await promise).toBe(true);
});

test("of a thousand chats the last hundred turns are in memory, and only the chats that have a turn", async () => {
  const { constructor: Conversation } = conversation(concierge(undefined));
  const alive = () => [Turn, Conversation].map((made) => queryObjects(made, { format: "count" }));
  const before = alive();
  const chats = new Chats(concierge(undefined), await folder());
  onTestFinished(() => chats.close());
  for (let n = 0; n < 120; n++) {
    const turn = await chats.say(`chat-${n}`, "hello");
    expect(await turn.stop()).toMatch(/completed|cancelled/);
    await chats.show(`other-${n}`);
  }
  const [turns = 0, open = 0] = alive().map((count, at) => count - (before[at] ?? 0));
  expect(turns).toBeLessThanOrEqual(101);
  expect(open).toBeLessThanOrEqual(1);
  expect(chats.turn("chat-119:0")).toBeInstanceOf(Turn);
});

test("a message that is so long that the chat could not go on is refused, by the page's route and that of useChat", async () => {
  const client = await serve();
  const text = "word ".repeat(100_000);
  const messages = [{ role: "user", parts: [{ type: "text", text }] }];
  const error = "a message may have 50000 characters; this one has 500000";
  const refused = { status: 413, json: { error } };
  expect(await client.post("/api/chats/tea/messages", { text })).toEqual(refused);
  expect(await client.post("/api/chat", { id: "tea", messages })).toEqual(refused);
  expect(await client.chat("tea")).toMatchObject({ messages: [] });
  await follow(client, await client.say("tea", text.slice(0, 50_000)));
  await follow(client, await client.say("tea", "hello"));
  expect((await client.chat("tea")).messages).toHaveLength(4);
});
