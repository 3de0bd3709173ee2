import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assembleToolCalls } from "../src/chat/tool-calls.ts";
import type { ToolCallAssembly } from "../src/chat/tool-calls.ts";
import { chunk, client, DONE, rawServer, sendPieces, streamed, whole } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 20_000 : 100;

interface Item {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | undefined;
}

/** What the events add up to for somebody who only sees them. */
function replay(
  assembly: ToolCallAssembly,
  items: readonly Item[],
): { id?: string; name?: string; arguments: string }[] {
  const events = items.flatMap((item) => assembly.add(item) ?? []);
  const seen: { id?: string; name?: string; arguments: string }[] = [];
  for (const event of [...events, ...assembly.flush()]) {
    const known = seen[event.index];
    if (known === undefined) {
      expect(event.id).toBeTypeOf("string");
      expect(event.name).toBeTypeOf("string");
      seen[event.index] = { id: event.id ?? "", name: event.name ?? "", arguments: event.delta };
    } else {
      expect(event.id).toBeUndefined();
      known.arguments += event.delta;
    }
  }
  return seen;
}

function assembled(items: readonly Item[]): (readonly [string, string, string])[] {
  const assembly = assembleToolCalls();
  const seen = replay(assembly, items);
  const calls = assembly.calls();
  expect(seen).toEqual(calls);
  return calls.map((call) => [call.id, call.name, call.arguments]);
}

function assembledCount(items: readonly Item[]): number {
  const assembly = assembleToolCalls();
  for (const item of items) assembly.add(item);
  assembly.flush();
  const calls = assembly.calls();
  expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
  return calls.length;
}

const head = (name: string, text: string): Item["function"] => ({ name, arguments: text });
const tail = (text: string): Item["function"] => ({ arguments: text });

describe("T10: tool calls are put together", () => {
  test.each<[string, Item[], (readonly [string, string, string])[]]>([
    [
      "an index missing",
      [
        { id: "a", function: head("f", "{") },
        { function: tail("}") },
        { id: "b", function: head("g", "{}") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "g", "{}"],
      ],
    ],
    [
      "an index missing and ids in each piece",
      [
        { id: "a", function: head("f", "{") },
        { id: "b", function: head("g", "{") },
        { id: "a", function: tail("}") },
        { id: "b", function: tail("}") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "g", "{}"],
      ],
    ],
    [
      "index 0 for every call",
      [
        { index: 0, id: "a", function: head("f", "{}") },
        { index: 0, id: "b", function: head("f", "{") },
        { index: 0, function: tail("}") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "f", "{}"],
      ],
    ],
    [
      "indices that start at 1 and jump",
      [
        { index: 1, id: "a", function: head("f", "{") },
        { index: 7, id: "b", function: head("g", "{}") },
        { index: 1, function: tail("}") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "g", "{}"],
      ],
    ],
    [
      "an index as text, negative or broken",
      [
        { index: "0", id: "a", function: head("f", "{") },
        { index: "0", function: tail("}") },
        { index: -1, id: "b", function: head("g", "{}") },
        { index: 1.5, id: "c", function: head("h", "{}") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "g", "{}"],
        ["c", "h", "{}"],
      ],
    ],
    [
      "a late id",
      [
        { index: 0, function: head("f", "{") },
        { index: 0, id: "late", function: tail("}") },
      ],
      [["late", "f", "{}"]],
    ],
    [
      "a late name",
      [
        { index: 0, id: "a", function: tail("{") },
        { index: 0, function: head("f", "}") },
      ],
      [["a", "f", "{}"]],
    ],
    [
      "no ids at all",
      [
        { index: 0, function: head("f", "{}") },
        { index: 1, function: head("f", "{}") },
      ],
      [
        ["call_0", "f", "{}"],
        ["call_1", "f", "{}"],
      ],
    ],
    [
      "no ids and no indices",
      [{ function: head("f", "{}") }, { function: head("f", '{"a":1}') }],
      [
        ["call_0", "f", "{}"],
        ["call_1", "f", '{"a":1}'],
      ],
    ],
    [
      "empty and null ids",
      [
        { index: 0, id: "", function: head("f", "{}") },
        { index: 1, id: null, function: head("g", "{}") },
      ],
      [
        ["call_0", "f", "{}"],
        ["call_1", "g", "{}"],
      ],
    ],
    [
      "the same id twice",
      [
        { index: 0, id: "a", function: head("f", "{}") },
        { index: 1, id: "a", function: head("f", "{}") },
      ],
      [
        ["a", "f", "{}"],
        ["a_2", "f", "{}"],
      ],
    ],
    [
      "an id that looks like a made one",
      [
        { index: 0, function: head("f", "{}") },
        { index: 1, id: "call_0", function: head("g", "{}") },
      ],
      [
        ["call_0_2", "f", "{}"],
        ["call_0", "g", "{}"],
      ],
    ],
    [
      "id and name repeated in each piece",
      [
        { index: 0, id: "a", function: head("f", "{") },
        { index: 0, id: "a", function: head("f", "}") },
      ],
      [["a", "f", "{}"]],
    ],
    [
      "an id that is known at another index",
      [
        { index: 0, id: "a", function: head("wipe", "") },
        { index: 1, id: "a", function: tail('{"folder":') },
        { index: 1, function: tail('"tmp"}') },
      ],
      [["a", "wipe", '{"folder":"tmp"}']],
    ],
    [
      "ids that are known, each at the other's index",
      [
        { index: 0, id: "a", function: head("f", "") },
        { index: 1, id: "b", function: head("g", "") },
        { index: 1, id: "a", function: tail("{}") },
        { index: 0, id: "b", function: tail("[]") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "g", "[]"],
      ],
    ],
    [
      "the same id twice, and in each piece",
      [
        { index: 0, id: "a", function: head("f", "{") },
        { index: 1, id: "a", function: head("f", "[") },
        { index: 0, id: "a", function: tail("}") },
        { index: 1, id: "a", function: head("f", "]") },
      ],
      [
        ["a", "f", "{}"],
        ["a_2", "f", "[]"],
      ],
    ],
    [
      "a new id and the same name in each piece",
      [
        { index: 0, id: "a", function: head("f", "") },
        { index: 0, id: "b", function: head("f", '{"x"') },
        { index: 0, id: "c", function: head("f", ":1}") },
      ],
      [["a", "f", '{"x":1}']],
    ],
    [
      "every call at index 0, by distinct ids and one name",
      [
        { index: 0, id: "a", function: head("f", "") },
        { index: 0, function: tail("{}") },
        { index: 0, id: "b", function: head("f", "") },
        { index: 0, function: tail("[]") },
        { index: 0, id: "c", function: head("f", "") },
        { index: 0, id: "d", function: head("f", "") },
      ],
      [
        ["a", "f", "{}"],
        ["b", "f", "[]"],
        ["c", "f", ""],
        ["d", "f", ""],
      ],
    ],
    [
      "every call at index 0, by distinct ids, names and no arguments",
      [
        { index: 0, id: "a", function: head("f", "") },
        { index: 0, id: "b", function: head("g", "") },
      ],
      [
        ["a", "f", ""],
        ["b", "g", ""],
      ],
    ],
    [
      "a name in pieces",
      [
        { index: 0, id: "a", function: head("get_", "") },
        { index: 0, function: head("weat", "") },
        { index: 0, id: "a", function: head("her", "{") },
        { index: 0, function: tail("}") },
      ],
      [["a", "get_weather", "{}"]],
    ],
    [
      "a name in pieces, by its id alone",
      [
        { id: "a", function: head("get_", "") },
        { id: "a", function: head("weather", "{}") },
      ],
      [["a", "get_weather", "{}"]],
    ],
    [
      "a name that is said anew as it grows",
      [
        { index: 0, id: "a", function: head("get_", "") },
        { index: 0, id: "a", function: head("get_weather", "") },
        { index: 0, id: "a", function: head("get_weather", "{}") },
      ],
      [["a", "get_weather", "{}"]],
    ],
    [
      "the name in each piece and nothing else, with brackets and quotes in the texts",
      [
        { function: head("f", "") },
        { function: head("f", '{"a":"}') },
        { function: head("f", '\\"}",') },
        { function: head("f", '"b":["x"]') },
        { function: head("f", "}") },
        { function: head("f", '{"a":"y"}') },
      ],
      [
        ["call_0", "f", '{"a":"}\\"}","b":["x"]}'],
        ["call_1", "f", '{"a":"y"}'],
      ],
    ],
    [
      "a new id in each piece, with a bracket in a text",
      [
        { index: 0, id: "a", function: head("f", '{"x":"}') },
        { index: 0, id: "b", function: head("f", '"}') },
        { index: 0, id: "c", function: head("f", "{}") },
      ],
      [
        ["a", "f", '{"x":"}"}'],
        ["c", "f", "{}"],
      ],
    ],
    [
      "index 0 for every call, and no ids",
      [
        { index: 0, function: head("f", "{}") },
        { index: 0, function: head("f", "{}") },
        { index: 0, function: head("g", "{}") },
      ],
      [
        ["call_0", "f", "{}"],
        ["call_1", "f", "{}"],
        ["call_2", "g", "{}"],
      ],
    ],
    [
      "no ids, no indices and no arguments",
      [{ function: head("f", "") }, { function: head("g", "") }],
      [
        ["call_0", "f", ""],
        ["call_1", "g", ""],
      ],
    ],
    [
      "a late id, and an index missing",
      [{ function: head("f", "{") }, { id: "late", function: tail("}") }],
      [["late", "f", "{}"]],
    ],
    ["no arguments", [{ index: 0, id: "a", function: { name: "f" } }], [["a", "f", ""]]],
    [
      "arguments as an object",
      [{ index: 0, id: "a", function: { name: "f", arguments: { x: [1] } } }],
      [["a", "f", '{"x":[1]}']],
    ],
    ["a call without a name", [{ index: 0, id: "a", function: tail("{}") }], [["a", "", "{}"]]],
    [
      "hostile names",
      [{ index: 0, id: "__proto__", function: head("constructor", '{"__proto__":1}') }],
      [["__proto__", "constructor", '{"__proto__":1}']],
    ],
  ])("with %s", (_name, items, expected) => {
    expect(assembled(items)).toEqual(expected);
  });

  test("with what the server sent beside the first piece alone", () => {
    const assembly = assembleToolCalls("gemini");
    const extra = { google: { thought_signature: "c2ln" } };
    assembly.add({ index: 0, id: "a", function: head("f", "{"), extra_content: extra });
    assembly.add({ index: 0, function: tail("}") });
    const data = JSON.stringify({ extra_content: extra });
    expect(assembly.calls()).toEqual([
      { id: "a", name: "f", arguments: "{}", opaque: { provider: "gemini", data } },
    ]);
  });

  test("out of anything, without a crash and with ids of their own", () => {
    const hostile = fc.option(
      fc.oneof(fc.string({ maxLength: 3 }), fc.integer({ min: -2, max: 3 }), fc.object({ maxDepth: 1 })),
    );
    const item = fc.record(
      { index: hostile, id: hostile, function: fc.option(fc.record({ name: hostile, arguments: hostile })) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(item, hostile), { maxLength: 12 }), (items) => {
        const calls = assembled(items as Item[]);
        expect(new Set(calls.map(([id]) => id)).size).toBe(calls.length);
      }),
      { numRuns: RUNS },
    );
  });

  test("a server that repeats itself endlessly costs no more than it sends", () => {
    // With a look back at all that came before, each of these would take minutes.
    const many = Array.from({ length: 50_000 }, (_, index) => index);
    expect(assembledCount(many.map((index) => ({ index, id: "x", function: head("f", "") })))).toBe(50_000);
    expect(assembledCount(many.map((index) => ({ id: `x${index}`, function: head("f", "") })))).toBe(50_000);
    expect(assembledCount(many.map(() => ({ function: head("f", "}}") })))).toBe(1);
  });

  /** 1 to 128 calls, their arguments split anywhere, the pieces of all of them mixed. */
  const interleaved = fc
    .record({
      texts: fc.array(fc.json({ maxDepth: 2 }), { minLength: 1, maxLength: 128 }),
      order: fc.infiniteStream(fc.nat()),
      size: fc.integer({ min: 1, max: 5 }),
    })
    .map(({ texts, order, size }) => {
      const queues = texts.map((text, index): Item[] => {
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
        return [
          { index, id: `id${index}`, function: { name: `tool${index % 3}`, arguments: "" } },
          ...pieces.map((piece) => ({ index, function: { arguments: piece } })),
        ];
      });
      const items: Item[] = [];
      // The calls begin in their order, then their pieces come in any.
      for (const queue of queues) items.push(...queue.splice(0, 1));
      for (
        let left = queues.filter((queue) => queue.length > 0);
        left.length > 0;
        left = left.filter((queue) => queue.length > 0)
      ) {
        items.push(...(left[order.next().value % left.length]?.splice(0, 1) ?? []));
      }
      return { texts, items };
    });
  const wanted = (texts: readonly string[]): (readonly [string, string, string])[] =>
    texts.map((text, index) => [`id${index}`, `tool${index % 3}`, text]);

  test("out of 1 to 128 interleaved calls, whatever the mix", () => {
    fc.assert(
      fc.property(interleaved, ({ texts, items }) => {
        expect(assembled(items)).toEqual(wanted(texts));
      }),
      { numRuns: Math.min(RUNS, 2_000) },
    );
  });

  test("and the property bites: an assembly that ignores the index fails it", () => {
    const broken = fc.check(
      fc.property(interleaved, ({ texts, items }) => {
        expect(assembled(items.map((item) => ({ ...item, index: undefined })))).toEqual(wanted(texts));
      }),
      { numRuns: 300 },
    );
    expect(broken.failed).toBe(true);
  });

  test("over HTTP: 128 calls, each argument byte by itself, in turn", async () => {
    const text = JSON.stringify({ city: "Zürich", n: 12 });
    const heads = Array.from({ length: 128 }, (_, index) =>
      chunk({
        tool_calls: [{ index, id: `id${index}`, type: "function", function: { name: "f", arguments: "" } }],
      }),
    );
    const pieces = Array.from(text).flatMap((letter) =>
      Array.from({ length: 128 }, (_, index) =>
        chunk({ tool_calls: [{ index, function: { arguments: letter } }] }),
      ),
    );
    const bytes = Buffer.from(heads.join("") + pieces.join("") + chunk({}, "tool_calls") + DONE);
    await using server = await rawServer((response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      sendPieces(response, whole(bytes));
    });
    const { response } = await streamed(client(server));
    expect(response.finishReason).toBe("toolCalls");
    expect(response.message.toolCalls).toHaveLength(128);
    expect(new Set(response.message.toolCalls?.map((call) => call.arguments))).toEqual(new Set([text]));
  });
});
