import fc from "fast-check";
import type { ModelEvent, ToolCall } from "@ravi/kernel";
import { UnusableAnswer } from "@ravi/kernel/provider";
import { describe, expect, test } from "vitest";
import { ReportedError } from "../src/failure/reported-error.ts";
import { collectResponse } from "../src/responses/answer.ts";
import { callItem, client, terminal, sse, rawServer, sendPieces, streamed, whole } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 100;

/** What the events add up to for somebody who only sees them. */
function replay(events: readonly ModelEvent[]): ToolCall[] {
  const seen: { id: string; name: string; arguments: string }[] = [];
  for (const each of events) {
    if (each.type !== "toolCall") continue;
    const known = seen[each.index];
    if (known === undefined)
      seen[each.index] = { id: each.id ?? "", name: each.name ?? "", arguments: each.delta };
    else {
      expect(each.id).toBeUndefined();
      known.arguments += each.delta;
    }
  }
  return seen;
}

interface Collected {
  readonly events: readonly ModelEvent[];
  readonly calls: readonly ToolCall[];
}

function collected(sent: readonly object[]): Collected {
  const answer = collectResponse("openai");
  const events = sent.flatMap((each) => [...answer.add(each, "")]);
  const end = answer.finish().at(-1);
  return { events, calls: end?.type === "finish" ? (end.response.message.toolCalls ?? []) : [] };
}

/** 1 to 128 calls, their arguments split anywhere, the events of all of them mixed. */
const interleaved = fc
  .record({
    texts: fc.array(fc.json({ maxDepth: 2 }), { minLength: 1, maxLength: 128 }),
    order: fc.infiniteStream(fc.nat()),
    size: fc.integer({ min: 1, max: 5 }),
    saysItems: fc.boolean(),
  })
  .map(({ texts, order, size, saysItems }) => {
    const queues = texts.map((text, n): object[] => {
      const about = { item_id: `fc${n}`, output_index: n };
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
      return [
        { type: "response.output_item.added", output_index: n, item: callItem(n, "") },
        ...pieces.map((delta) => ({ type: "response.function_call_arguments.delta", ...about, delta })),
        { type: "response.function_call_arguments.done", ...about, arguments: text },
        { type: "response.output_item.done", output_index: n, item: callItem(n, text) },
      ];
    });
    const sent: object[] = queues.flatMap((queue) => queue.splice(0, 1));
    for (let left = queues; left.length > 0; left = left.filter((queue) => queue.length > 0))
      sent.push(...(left[order.next().value % left.length]?.splice(0, 1) ?? []));
    const output = saysItems ? texts.map((text, n) => callItem(n, text)) : [];
    sent.push({ type: "response.completed", response: { status: "completed", output } });
    return { texts, sent };
  });
const wanted = (texts: readonly string[]): ToolCall[] =>
  texts.map((text, n) => ({ id: `call${n}`, name: "f", arguments: text }));

describe("T10: the tool calls of a response", () => {
  test("are put together out of 1 to 128 interleaved ones, whatever the mix", () => {
    fc.assert(
      fc.property(interleaved, ({ texts, sent }) => {
        const { events, calls } = collected(sent);
        expect(calls).toEqual(wanted(texts));
        expect(replay(events)).toEqual(calls);
      }),
      { numRuns: Math.min(RUNS, 2_000) },
    );
  });

  test("and the property bites: where neither id nor place is looked at, it fails", () => {
    const broken = fc.check(
      fc.property(interleaved, ({ texts, sent }) => {
        const lost = sent.map((each) => ({ ...each, item_id: undefined, output_index: undefined }));
        const { events, calls } = collected(lost);
        expect(calls).toEqual(wanted(texts));
        expect(replay(events)).toEqual(calls);
      }),
      { numRuns: 300 },
    );
    expect(broken.failed).toBe(true);
  });

  test("out of anything, each has an id of its own, and what fails, fails as an answer that cannot be used", () => {
    const hostile = fc.option(
      fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: -2, max: 3 }), fc.object({ maxDepth: 1 })),
    );
    const item = fc.record(
      {
        type: fc.constantFrom("function_call", "message", "reasoning", "web_search_call"),
        id: hostile,
        call_id: hostile,
        name: hostile,
        arguments: hostile,
        status: hostile,
        content: fc.oneof(hostile, fc.array(hostile, { maxLength: 2 })),
        summary: fc.oneof(hostile, fc.array(hostile, { maxLength: 2 })),
      },
      { requiredKeys: ["type"] },
    );
    const one = fc.record(
      {
        type: fc.constantFrom(
          "response.output_item.added",
          "response.output_item.done",
          "response.output_text.delta",
          "response.refusal.delta",
          "response.reasoning_summary_text.delta",
          "response.reasoning_text.delta",
          "response.function_call_arguments.delta",
          "response.function_call_arguments.done",
          "response.output_text.done",
          "response.refusal.done",
          "response.content_part.done",
          "response.reasoning_text.done",
          "response.reasoning_summary_part.done",
        ),
        item: fc.oneof(item, hostile),
        item_id: hostile,
        output_index: hostile,
        sequence_number: hostile,
        delta: hostile,
        text: hostile,
        part: fc.oneof(hostile, fc.record({ type: hostile, text: hostile, refusal: hostile })),
        arguments: hostile,
      },
      { requiredKeys: ["type"] },
    );
    const last = fc.record({
      type: fc.constantFrom("response.completed", "response.incomplete"),
      response: fc.oneof(
        hostile,
        fc.record({
          output: fc.oneof(hostile, fc.array(fc.oneof(item, hostile), { maxLength: 5 })),
          usage: hostile,
        }),
      ),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 12 }), last, (sent, end) => {
        try {
          const { calls } = collected([...sent, end]);
          expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
        } catch (error) {
          if (!(error instanceof UnusableAnswer) && !(error instanceof ReportedError)) throw error;
        }
      }),
      { numRuns: Math.min(RUNS, 5_000) },
    );
  });

  test("a server that repeats itself endlessly costs no more than it sends", () => {
    // With a look back at all that came before, this would take minutes.
    const many = Array.from({ length: 20_000 }, (_, n) => n);
    const texts = many.map((n) => ({
      type: "response.output_item.added",
      item: { type: "message", id: `m${n}` },
    }));
    const output = many.map(() => callItem(0, "{}"));
    const end = { type: "response.completed", response: { status: "completed", output } };
    const { calls } = collected([...texts, end]);
    expect(new Set(calls.map((call) => call.id)).size).toBe(20_000);
  });

  test("over HTTP: 128 calls, each argument byte by itself, in turn", async () => {
    const text = JSON.stringify({ city: "Zürich", n: 12 });
    const all = Array.from({ length: 128 }, (_, n) => n);
    const heads = all.map((n) =>
      sse("response.output_item.added", { output_index: n, item: callItem(n, "") }),
    );
    const pieces = Array.from(text).flatMap((delta) =>
      all.map((n) =>
        sse("response.function_call_arguments.delta", { item_id: `fc${n}`, output_index: n, delta }),
      ),
    );
    const bytes = Buffer.from(heads.join("") + pieces.join("") + terminal(all.map((n) => callItem(n, text))));
    await using server = await rawServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      sendPieces(response, whole(bytes));
    });
    const { events, response } = await streamed(client(server, { api: "responses" }));
    expect(response.finishReason).toBe("toolCalls");
    expect(replay(events)).toEqual(response.message.toolCalls);
    expect(response.message.toolCalls).toHaveLength(128);
    expect(new Set(response.message.toolCalls?.map((call) => call.arguments))).toEqual(new Set([text]));
  });
});
