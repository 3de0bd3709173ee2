import { once } from "node:events";
import { createServer } from "node:net";
import { textOf } from "@ravi/sdk";
import { expect, onTestFinished, test } from "vitest";
import { folder, questionIn, runEvent, type ServerEvent, textIn } from "./client.ts";
import { start, startFromSource } from "./program.ts";

test.each(["SIGTERM", "SIGINT", "SIGKILL"] as const)(
  "after %s the next server goes on with a turn that waits, and nobody loses it or sees it twice",
  async (signal) => {
    const dir = await folder();
    const first = start("--dir", dir, "--port", "0");
    const before = await first.client();
    const runId = await before.say("tea", "book a table");
    const heard: ServerEvent[] = [];
    for await (const event of before.watch(runId)) {
      heard.push(event);
      if (questionIn(event) !== undefined) break;
    }
    expect(await first.end(signal)).toBe(signal === "SIGKILL" ? null : 0);

    const second = start("--dir", dir, "--port", new URL(before.url).port);
    const after = await second.client();
    expect(second.output()).toContain("unfinished turns that continue: 1");
    expect((await after.chat("tea")).runId).toBe(runId);
    const list: ServerEvent[] = [];
    for await (const event of after.watch(runId, heard.at(-1)?.id)) {
      list.push(event);
      const name = event.event === undefined ? questionIn(event) : undefined;
      if (name !== undefined) await after.post(`/api/runs/${runId}/answers`, { name, approved: true });
    }
    expect(list[0]?.event).toBe("reset");
    expect(list.at(-1)?.event).toBe("end");
    const told = list.slice(1, -1).map((event) => runEvent(event));
    expect(told.map(({ seq }) => seq)).toEqual(told.map((_, at) => at + 1));
    expect(told.filter(({ event }) => event.type === "toolCall")).toHaveLength(1);
    expect(textIn(list)).toMatch(/Done: booked for 2 at 19:00/);
    const { messages } = await after.chat("tea");
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(await second.end("SIGTERM")).toBe(0);
  },
);

test("a server that is killed while it answers: the next one gives the whole answer", async () => {
  const dir = await folder();
  const first = start("--dir", dir, "--port", "0");
  const before = await first.client();
  const runId = await before.say("tea", "count to 30");
  const heard: ServerEvent[] = [];
  for await (const event of before.watch(runId)) {
    heard.push(event);
    if (textIn(heard) !== "") break;
  }
  await first.end("SIGKILL");
  const after = await start("--dir", dir, "--port", "0").client();
  const list: ServerEvent[] = [];
  for await (const event of after.watch(runId, heard.at(-1)?.id)) list.push(event);
  expect(list[0]?.event).toBe("reset");
  const [, answer] = (await after.chat("tea")).messages;
  expect(answer && textOf(answer)).toBe(Array.from({ length: 30 }, (_, at) => at + 1).join(" "));
});

test("a second server does not claim to continue, or to know the end of, what the first one works on", async () => {
  const dir = await folder();
  const first = await start("--dir", dir, "--port", "0").client();
  const runId = await first.say("tea", "book a table");
  const program = start("--dir", dir, "--port", "0");
  const second = await program.client();
  expect(program.output()).toMatch(/chat tea is not continued: run tea:0 is claimed by process/);
  expect(program.output()).not.toContain("unfinished");
  expect((await fetch(`${second.url}/api/runs/${runId}/events`)).status).toBe(204);
  expect((await second.post("/api/chats/tea/messages", { text: "hello" })).status).toBe(409);
  expect((await first.post(`/api/runs/${runId}/stop`, {})).json).toEqual({ status: "cancelled" });
});

test("Ctrl-C waits for the answer under way; a second one does not, and the turn continues later all the same", async () => {
  const dir = await folder();
  const program = start("--dir", dir, "--port", "0");
  const client = await program.client();
  const runId = await client.say("tea", "count to 9000");
  const list: ServerEvent[] = [];
  const stream = client.watch(runId);
  while (textIn(list) === "") {
    const { value } = await stream.next();
    if (value !== undefined) list.push(value);
  }
  const ending = program.end("SIGINT");
  await program.until(/SIGINT: turns are suspended; once more to end at once/);
  await program.end("SIGINT");
  expect(await ending).toBe(130);
  // The connection breaks off, so that a browser connects again.
  const rest = async () => {
    for await (const event of stream) list.push(event);
  };
  await expect(rest()).rejects.toThrow("terminated");
  expect(list.filter(({ event }) => event === "end")).toEqual([]);
  const next = start("--dir", dir, "--port", "0");
  await next.until(/unfinished turns that continue: 1/);
  expect((await (await next.client()).chat("tea")).runId).toBe(runId);
});

test("--help, and what is wrong with the options is said plainly", async () => {
  const help = start("--help");
  expect(await help.end()).toBe(0);
  expect(help.output()).toContain("--port N");
  const wrong: [string[], RegExp][] = [
    [["--prot", "1"], /^web: Unknown option '--prot'[^\n]*\n.*--help/],
    [["--port", "x"], /^web: --port is "x"; expected a number from 0 to 65535\n$/],
    [["--dir", ""], /^web: --dir needs the path of a folder\n$/],
  ];
  for (const [args, said] of wrong) {
    const program = start(...args);
    expect(await program.end()).toBe(1);
    expect(program.output()).toMatch(said);
  }
});

test("a port that is taken is said, with how another one is chosen, and the process ends, also if it is started from source", async () => {
  const other = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const args = ["--dir", await folder(), "--port", String(port)];
  for (const program of [start(...args), startFromSource(...args)]) {
    expect(await program.end()).toBe(1);
    expect(program.output()).toMatch(/^web: .*EADDRINUSE.*--port 0/);
  }
});
