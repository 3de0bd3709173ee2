import { isRaviError, type ModelEvent, textOf, type ToolCall } from "@ravi/kernel";
import { anyText } from "@ravi/testing/suites";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fromAiSdk } from "../src/index.ts";
import { ask, FINISH, fixedModel } from "./support.ts";

const RUNS = process.env["RAVI_LONG"] ? 5_000 : 200;

const id = fc.constantFrom("a", "b", "", undefined);
const text = anyText({ maxLength: 8 });
const metadata = fc.constantFrom(undefined, { p: { s: "sig" } }, { p: { phase: "final_answer" } }, null, 7);

/** Parts as models send them, in any order, and things that no model should send. */
const part = fc.oneof(
  fc.record({
    type: fc.constantFrom("text-delta", "reasoning-delta", "tool-input-delta"),
    id,
    delta: text,
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constantFrom("text-start", "text-end", "reasoning-start", "reasoning-end", "tool-input-end"),
    id,
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constant("tool-input-start"),
    id,
    toolName: fc.constantFrom("search", undefined),
    providerExecuted: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("tool-call"),
    toolCallId: id,
    toolName: fc.constant("search"),
    input: fc.oneof(text, fc.jsonValue()),
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constantFrom("file", "source", "raw", "ping", "response-metadata", "unheard-of"),
    id,
    data: fc.jsonValue(),
    mediaType: fc.constant("image/png"),
  }),
  fc.constantFrom(null, undefined, 7, "text", []),
);

test("T10: whatever parts a model sends, a stream keeps its contract, and its events add up to its answer", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { maxLength: 30, size: "max" }),
      fc.boolean(),
      async (parts, finishes) => {
        const model = fixedModel({ parts: (finishes ? [...parts, FINISH] : parts) as object[] });
        const events: ModelEvent[] = [];
        let failure: unknown;
        try {
          const tools = [{ name: "search", description: "", parameters: { type: "object" } }];
          for await (const event of fromAiSdk(model).stream?.(ask("go", { tools })) ?? []) events.push(event);
        } catch (error) {
          failure = error;
        }
        if (!finishes) {
          expect(isRaviError(failure, "PROVIDER_ERROR")).toBe(true);
          expect(events.filter(({ type }) => type === "finish")).toEqual([]);
          return;
        }
        expect(failure).toBeUndefined();
        const last = events.at(-1);
        if (last?.type !== "finish") throw new Error("no finish at the end");
        const { message, finishReason } = last.response;
        expect(events.filter(({ type }) => type === "finish")).toHaveLength(1);
        expect(textOf(message)).toBe(joined(events, "text"));
        // Thoughts that come interleaved are put together each by itself, so only their letters are the same.
        expect(letters(reasoningOf(message.content))).toEqual(letters(joined(events, "reasoning")));
        const calls = message.toolCalls ?? [];
        expect(new Set(calls.map((call) => call.id)).size).toBe(calls.length);
        expect(opened(events)).toEqual(calls.map((call) => [call.id, call.name]));
        expect(finishReason).toBe(calls.length === 0 ? "stop" : "toolCalls");
        // It is plain JSON, as a conversation has to be.
        expect(JSON.parse(JSON.stringify(message))).toEqual(message);
      },
    ),
    { numRuns: RUNS },
  );
});

function joined(events: readonly ModelEvent[], type: "text" | "reasoning"): string {
  return events.flatMap((event) => (event.type === type ? [event.delta] : [])).join("");
}

function letters(said: string): readonly string[] {
  return said.split("").toSorted();
}

function reasoningOf(content: Parameters<typeof textOf>[0]["content"]): string {
  if (typeof content === "string") return "";
  const thoughts = content.flatMap((each) => (each.type === "reasoning" ? [each.text] : []));
  return thoughts.join("");
}

/** Calls in the order of their first events, which carry id and name. */
function opened(events: readonly ModelEvent[]): (readonly [ToolCall["id"], ToolCall["name"]])[] {
  const heads: (readonly [string, string])[] = [];
  for (const event of events) {
    if (event.type !== "toolCall" || event.id === undefined) continue;
    expect(event.index).toBe(heads.length);
    heads.push([event.id, event.name ?? ""]);
  }
  return heads;
}
