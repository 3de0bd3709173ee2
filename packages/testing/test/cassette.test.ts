import { isRaviError, type LLMClient, type ModelRequest } from "@ravi/kernel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { record, replay, scriptedModel } from "../src/index.ts";
import { anyText } from "../src/suites/index.ts";
import { failureOf, recording, stream } from "./cassettes/support.ts";
import { ask, collect, temporaryFile } from "./helpers.ts";

const RUNS = process.env["RAVI_LONG"] ? 2_000 : 60;

test("a model by its name is no client that could be recorded, and is refused before there is a file", () => {
  expect(() => record("openai:gpt-5-mini" as never, "cassette.jsonl")).toThrow(
    /^record: client is "openai:gpt-5-mini"; expected an LLMClient/,
  );
});

describe("a cassette", () => {
  test("gives the recorded answers again, streamed and not, without the client", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording(
      ["one", { reasoning: "hm", text: "two", toolCalls: [{ name: "search", arguments: { q: 1 } }] }],
      file,
    );
    const first = await live.generate(ask("a"));
    const events = await collect(stream(live, ask("b")));
    const again = replay(file);
    expect([again.id, again.info]).toEqual([live.id, live.info]);
    expect(await again.generate(ask("a"))).toEqual(first);
    expect(await collect(stream(again, ask("b")))).toEqual(events);
    expect(again.unused).toEqual([]);
    again.assertAllUsed();
  });

  test("is found by what was asked, not by the order or the spelling of fields", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording((request) => `answer to ${JSON.stringify(request.messages)}`, file);
    const a = await live.generate({ messages: ask("a").messages, temperature: 0.5 });
    const b = await live.generate(ask("b"));
    const again = replay(file);
    expect(await again.generate(ask("b"))).toEqual(b);
    expect(await again.generate({ temperature: 0.5, seed: undefined, messages: ask("a").messages })).toEqual(
      a,
    );
  });

  test("gives equal requests their answers in the order in which they were made", async () => {
    const file = temporaryFile("run.jsonl");
    // The first call ends last.
    const clockless = (_: ModelRequest, call: number) => ({ text: `${call}`, delayMs: call === 0 ? 30 : 0 });
    const live = recording(clockless, file);
    const answers = await Promise.all([
      live.generate(ask("same")),
      live.generate(ask("same")),
      live.generate(ask("same")),
    ]);
    const again = replay(file);
    for (const answer of answers) expect(await again.generate(ask("same"))).toEqual(answer);
  });

  test("keeps the calls of several clients apart", async () => {
    const file = temporaryFile("run.jsonl");
    const lead = recording(["I lead"], file, "lead");
    const helper = recording(["I help"], file, "helper");
    await Promise.all([lead.generate(ask("who?")), helper.generate(ask("who?"))]);
    expect((await replay(file, { id: "helper" }).generate(ask("who?"))).message.content).toBe("I help");
    expect((await replay(file, { id: "lead" }).generate(ask("who?"))).message.content).toBe("I lead");
    expect(() => replay(file)).toThrow(
      /replay id is undefined; expected one of the clients in .*: (lead, helper|helper, lead)/,
    );
  });

  test("copies the request when it is made: the list of messages grows afterwards", async () => {
    const file = temporaryFile("run.jsonl");
    const messages = [...ask("a").messages];
    const pending = recording([{ text: "ok", delayMs: 1 }], file).generate({ messages });
    messages.push({ role: "user", content: "later" });
    await pending;
    expect((await replay(file).generate(ask("a"))).message.content).toBe("ok");
  });

  test("replays a failure as the same failure", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording(
      [
        { fault: { type: "status", status: 429, headers: { "retry-after": "7" } } },
        { text: "a long enough text", fault: { type: "cut", afterDeltas: 1 } },
      ],
      file,
    );
    await failureOf(live.generate(ask("a")));
    await failureOf(collect(stream(live, ask("b"))));
    const again = replay(file);
    const error = await failureOf(again.generate(ask("a")));
    expect(error).toMatchObject({ kind: "RATE_LIMIT", status: 429, retryAfterMs: 7_000, retryable: true });
    expect(isRaviError(error, "PROVIDER_ERROR")).toBe(true);
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const event of stream(again, ask("b"))) seen.push(event.type);
    };
    expect(await failureOf(read())).toMatchObject({ kind: "SERVER_ERROR" });
    expect(seen).toEqual(["text"]);
  });

  test("T4: records no call that was cancelled, and heeds a signal when it replays", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording([{ fault: { type: "hang" } }, "ok"], file);
    const controller = new AbortController();
    const cancelled = failureOf(live.generate(ask("a"), { signal: controller.signal }));
    controller.abort("enough");
    expect(await cancelled).toMatchObject({ reason: "enough" });
    await live.generate(ask("b"));
    const again = replay(file);
    expect(again.unused.map(({ request }) => request)).toEqual([ask("b")]);
    const stopped = failureOf(again.generate(ask("b"), { signal: AbortSignal.abort("no") }));
    expect(await stopped).toMatchObject({ reason: "no" });
    expect(again.unused).toHaveLength(1);
  });

  test("streams what was recorded whole, and answers whole what was recorded as a stream", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording([{ reasoning: "hm", text: "a", toolCalls: [{ name: "t" }] }, "b"], file);
    const whole = await live.generate(ask("whole"));
    const events = await collect(stream(live, ask("streamed")));
    const again = replay(file);
    expect(await collect(stream(again, ask("whole")))).toEqual([
      { type: "reasoning", delta: "hm" },
      { type: "text", delta: "a" },
      { type: "toolCall", index: 0, id: "call_0", name: "t", delta: "{}" },
      { type: "finish", response: whole },
    ]);
    expect(events.at(-1)).toEqual({ type: "finish", response: await again.generate(ask("streamed")) });
  });

  test("has no stream where the client had none", async () => {
    const file = temporaryFile("run.jsonl");
    const { id, info, generate } = { ...scriptedModel(["ok"]) };
    const live = record({ id, info, generate }, file);
    await live.generate(ask("a"));
    expect([live.stream, replay(file).stream]).toEqual([undefined, undefined]);
  });

  test("says which recordings nobody asked for", async () => {
    const file = temporaryFile("run.jsonl");
    const live = recording(["1", "2", "3"], file);
    for (const text of ["a", "b", "c"]) await live.generate(ask(text));
    const again = replay(file);
    await again.generate(ask("b"));
    expect(again.unused.map(({ n }) => n)).toEqual([1, 3]);
    expect(() => again.assertAllUsed()).toThrow(/2 of 3 calls of scripted\/scripted not replayed/);
    expect(() => again.assertAllUsed()).toThrow(/call 1:\n {2}user: a/);
  });

  test("replays whatever was recorded, byte for byte", async () => {
    const text = anyText();
    const answer = fc.record({
      text,
      reasoning: text,
      toolCalls: fc.array(fc.record({ name: text, arguments: text })),
    });
    const calls = fc.array(
      fc.record({ ask: fc.constantFrom("a", "b", "c"), answer, streamed: fc.boolean() }),
    );
    await fc.assert(
      fc.asyncProperty(calls, async (all) => {
        const file = temporaryFile("run.jsonl");
        const live = recording(
          all.map((call) => call.answer),
          file,
        );
        const play = async (client: LLMClient): Promise<string> => {
          const seen: unknown[] = [];
          for (const call of all) {
            seen.push(
              call.streamed
                ? await collect(stream(client, ask(call.ask)))
                : await client.generate(ask(call.ask)),
            );
          }
          return JSON.stringify(seen);
        };
        const before = await play(live);
        if (all.length === 0) return;
        const again = replay(file);
        expect(await play(again)).toBe(before);
        again.assertAllUsed();
      }),
      { numRuns: RUNS },
    );
  });
});
