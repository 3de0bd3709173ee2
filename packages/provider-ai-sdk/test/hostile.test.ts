import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { type LLMClient, textOf } from "@ravi/kernel";
import { loopbackAnthropic, loopbackOpenAI } from "@ravi/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromAiSdk } from "../src/index.ts";

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

const HOSTILE: Readonly<Record<string, string>> = {
  "a prototype": '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  "a then and a toJSON": '{"then":1,"toJSON":"x"}',
  "64 levels": nested(64),
  "5,000 levels": nested(5_000),
  "1,000,000 levels": nested(1_000_000),
  "a number that is none": '{"n":1e400,"m":-0}',
  "half of a letter": String.raw`{"s":"\ud800 \udc00"}`,
  "a megabyte": JSON.stringify({ text: "x".repeat(1_000_000) }),
  "no object": "[1,2]",
  "no JSON": '{"query": "open',
};

describe("T11: hostile arguments in a history", () => {
  const clients: Record<string, LLMClient> = {};
  const closing: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const script = () => "still here";
    const openai = await loopbackOpenAI({ script });
    const anthropic = await loopbackAnthropic({ script });
    closing.push(openai.close, anthropic.close);
    const made = createOpenAI({ baseURL: openai.url, apiKey: "sk-test-0001" });
    clients["chat"] = fromAiSdk(made.chat("m"));
    clients["responses"] = fromAiSdk(made.responses("m"), { providerOptions: { openai: { store: false } } });
    clients["anthropic"] = fromAiSdk(
      createAnthropic({ baseURL: `${anthropic.url}/v1`, apiKey: "sk-test-0001" })("m"),
    );
  });
  afterAll(async () => {
    for (const close of closing) await close();
  });

  describe.each(["chat", "responses", "anthropic"])("over %s", (name) => {
    test.each(Object.entries(HOSTILE))("%s goes back, and harms nobody", async (_, text) => {
      const response = await clients[name]?.generate({
        messages: [
          { role: "system", content: "half \ud800" },
          { role: "user", content: "half \udc00" },
          { role: "assistant", content: "", toolCalls: [{ id: "c", name: "search", arguments: text }] },
          { role: "tool", toolCallId: "c", name: "search", content: "refused \ud800", isError: true },
        ],
        tools: [
          { name: "search", description: "Looks it up.", parameters: { type: "object", properties: {} } },
        ],
      });
      expect(response === undefined ? "" : textOf(response.message)).toBe("still here");
      expect(Reflect.get({}, "polluted")).toBeUndefined();
    });
  });
});
