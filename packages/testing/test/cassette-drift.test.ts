import type { ModelRequest } from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { replay, UnrecordedRequestError } from "../src/index.ts";
import { failureOf, recording, stream } from "./cassettes/support.ts";
import { ask, collect, temporaryFile } from "./helpers.ts";

describe("a request that was not recorded", () => {
  const SYSTEM = "You compare vendors.\nBe brief.\nName your sources.";
  const request = (system: string, question: string): ModelRequest => ({
    messages: [
      { role: "system", content: system },
      { role: "user", content: question },
    ],
    tools: [{ name: "search", description: "Looks it up.", parameters: { type: "object" } }],
    temperature: 0,
  });

  async function recorded(): Promise<string> {
    const file = temporaryFile("run.jsonl");
    const live = recording(["1", "2", "3"], file);
    await live.generate(request("Another agent.", "Something else?"));
    await live.generate(request(SYSTEM, "Acme or Borealis?"));
    await live.generate(ask("hello"));
    return file;
  }

  test("fails with a diff against the nearest one", async () => {
    const again = replay(await recorded());
    const error = await failureOf(
      again.generate(request(SYSTEM.replace("brief", "very brief"), "Acme or Borealis?")),
    );
    if (!(error instanceof UnrecordedRequestError)) throw error;
    expect(error.retryable).toBe(false);
    expect(error.diff).toMatchInlineSnapshot(`
      "--- recorded
      +++ asked
      @@ messages[0] system @@
       You compare vendors.
      -Be brief.
      +Be very brief.
       Name your sources.
      @@ messages[1] user @@
       Acme or Borealis?"
    `);
    expect(error.message).toContain("the most similar one is call 2");
    expect(error.message).toContain(error.diff);
    expect(again.unused).toHaveLength(3);
  });

  test("fails for a stream too, and for settings and messages that were added", async () => {
    const again = replay(await recorded());
    const more = request(SYSTEM, "Acme or Borealis?");
    const longer: ModelRequest = {
      ...more,
      messages: [
        ...more.messages,
        { role: "assistant", content: "", toolCalls: [{ id: "c", name: "search", arguments: "{}" }] },
      ],
      temperature: 1,
    };
    const error = await failureOf(collect(stream(again, longer)));
    if (!(error instanceof UnrecordedRequestError)) throw error;
    expect(error.diff).toMatchInlineSnapshot(`
      "--- recorded
      +++ asked
      @@ messages[0] system @@
       Name your sources.
      @@ messages[1] user @@
       Acme or Borealis?
      @@ messages[2] assistant @@
      +
      +toolCalls: {"id":"c","name":"search","arguments":"{}"}
      @@ tools search @@
       Looks it up.
       {"type":"object"}
      @@ temperature @@
      -temperature: 0
      +temperature: 1"
    `);
  });

  test("says so when it was recorded, and every recording was used", async () => {
    const again = replay(await recorded());
    await again.generate(ask("hello"));
    const error = await failureOf(again.generate(ask("hello")));
    expect(String(error)).toMatch(
      /this one was recorded once, and every recording has been replayed already/,
    );
  });

  test("shows a diff that a person can read, however long the prompt is", async () => {
    const file = temporaryFile("run.jsonl");
    const lines = (word: string) =>
      Array.from({ length: 3_000 }, (_, n) => `${word} ${n} ${"x".repeat(500)}`).join("\n");
    await recording(["1"], file).generate(ask(lines("one")));
    const error = await failureOf(replay(file).generate(ask(lines("two"))));
    if (!(error instanceof UnrecordedRequestError)) throw error;
    expect(error.diff.split("\n").length).toBeLessThan(70);
    expect(error.diff.length).toBeLessThan(20_000);
    expect(error.diff).toContain("more lines");
  });

  test("shows the place where a long line differs", async () => {
    const file = temporaryFile("run.jsonl");
    const prompt = (word: string): string =>
      `${"You are careful. ".repeat(40)}Answer in ${word}. ${"Be kind. ".repeat(60)}`;
    await recording(["1"], file).generate(ask(prompt("French")));
    const error = await failureOf(replay(file).generate(ask(prompt("German"))));
    if (!(error instanceof UnrecordedRequestError)) throw error;
    expect(error.diff).toMatch(
      /^-\.\.\..*careful\. Answer in French\. Be kind\..*\.\.\. \(1238 characters\)$/m,
    );
    expect(error.diff).toMatch(
      /^\+\.\.\..*careful\. Answer in German\. Be kind\..*\.\.\. \(1238 characters\)$/m,
    );
  });

  test("is the same request where what differs does not count", async () => {
    const file = temporaryFile("run.jsonl");
    await recording(["ok"], file).generate(ask("It is 10:15. How are you?"));
    const normalize = (given: ModelRequest): ModelRequest =>
      JSON.parse(JSON.stringify(given).replaceAll(/\d\d:\d\d/g, "00:00")) as ModelRequest;
    const again = replay(file, { normalize });
    expect((await again.generate(ask("It is 22:40. How are you?"))).message.content).toBe("ok");
  });
});
