import { SpanStatusCode } from "@opentelemetry/api";
import {
  CancellationError,
  type ChatMessage,
  type JsonValue,
  MiddlewareTermination,
  type SpanContent,
  ToolError,
} from "@ravi/kernel";
import { describe, expect, test } from "vitest";
import { otelTelemetry, type OtelTelemetryOptions } from "@ravi/telemetry-otel";
import { AlwaysOffSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import { only, recording } from "./support.ts";

/** What is recorded of a piece of content. */
function recorded(content: SpanContent, options: OtelTelemetryOptions = { content: true }) {
  const { tracer, ended } = recording();
  const span = otelTelemetry({ tracer, ...options }).startSpan("plain", {});
  span.addContent?.(content);
  span.end();
  return only(ended()).attributes;
}

const messagesOf = (text: unknown): JsonValue => JSON.parse(String(text)) as JsonValue;
const asking = (messages: readonly ChatMessage[]): SpanContent => ({ of: "request", request: { messages } });

describe("content", () => {
  test("is not recorded unless it is asked for", () => {
    const { tracer } = recording();
    expect(otelTelemetry({ tracer }).startSpan("plain", {}).addContent).toBeUndefined();
    expect(otelTelemetry({ tracer, content: false }).startSpan("plain", {}).addContent).toBeUndefined();
  });

  test("is not even asked for if the span is not sampled", () => {
    const tracer = new TracerProvider({ sampler: new AlwaysOffSampler() }).getTracer("test");
    expect(otelTelemetry({ tracer, content: true }).startSpan("plain", {}).addContent).toBeUndefined();
  });

  test("a conversation has the form of the conventions: roles, and parts with a type", () => {
    const attributes = recorded(
      asking([
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image", url: "data:image/png;base64,AAAA", mediaType: "image/png" },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "reasoning", text: "hm" },
            { type: "text", text: "I look." },
          ],
          toolCalls: [{ id: "c1", name: "look", arguments: '{"at":1}' }],
        },
        { role: "tool", toolCallId: "c1", name: "look", content: "a cat" },
      ]),
    );
    expect(messagesOf(attributes["gen_ai.input.messages"])).toEqual([
      { role: "system", parts: [{ type: "text", content: "Be brief." }] },
      {
        role: "user",
        parts: [
          { type: "text", content: "What is this?" },
          { type: "image", mime_type: "image/png" },
        ],
      },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "hm" },
          { type: "text", content: "I look." },
          { type: "tool_call", id: "c1", name: "look", arguments: '{"at":1}' },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "c1", response: "a cat" }] },
    ]);
  });

  test("an answer has its finish reason", () => {
    const message = { role: "assistant", content: "It is a cat." } as const;
    const attributes = recorded({ of: "response", response: { message, finishReason: "filtered" } });
    expect(messagesOf(attributes["gen_ai.output.messages"])).toEqual([
      {
        role: "assistant",
        parts: [{ type: "text", content: "It is a cat." }],
        finish_reason: "content_filter",
      },
    ]);
  });

  test.each<[SpanContent, string, string]>([
    [{ of: "arguments", text: '{"usd":12}' }, "gen_ai.tool.call.arguments", '{"usd":12}'],
    [{ of: "result", text: "paid" }, "gen_ai.tool.call.result", "paid"],
    [
      { of: "input", text: "Pay" },
      "gen_ai.input.messages",
      '[{"role":"user","parts":[{"type":"text","content":"Pay"}]}]',
    ],
    [
      { of: "output", text: "Paid" },
      "gen_ai.output.messages",
      '[{"role":"assistant","parts":[{"type":"text","content":"Paid"}],"finish_reason":"stop"}]',
    ],
  ])("%j is the attribute %s", (content, name, value) => {
    expect(recorded(content)).toEqual({ [name]: value });
  });

  test("T13: what looks like a key is left out even so, also at the place where a text is cut", () => {
    const key = "sk-ant-CANARY00112233445566";
    for (let before = 0; before < 120; before += 1) {
      for (const [head, tail] of [[before, 200] as const, [200, before] as const]) {
        const text = `${"x".repeat(head)} ${key} ${"y".repeat(tail)}`;
        const attributes = recorded({ of: "result", text }, { content: true, maxContentChars: 150 });
        expect(JSON.stringify(attributes)).not.toMatch(/CANARY|445566/);
      }
    }
  });

  test("T13: a private key that is longer than the limit is left out as a whole", () => {
    const lines = Array.from({ length: 20 }, (_, at) => `CANARY${at}${"q".repeat(58)}`).join("\n");
    const pem = `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----`;
    const attributes = recorded(
      { of: "result", text: `a ${pem} z` },
      { content: true, maxContentChars: 400 },
    );
    expect(attributes["gen_ai.tool.call.result"]).toBe("a [redacted] z");
  });

  test("what is cut out is counted, for people: they cannot ask for less, as models can", () => {
    const text = `${"a".repeat(200)}${"z".repeat(200)}`;
    const attributes = recorded({ of: "result", text }, { content: true, maxContentChars: 100 });
    const kept = String(attributes["gen_ai.tool.call.result"]);
    expect(kept.length).toBeLessThanOrEqual(100);
    const [, head = "", missing, tail = ""] =
      /^(a+)\n\[\.\.\. (\d+) characters .* \.\.\.\]\n(z+)$/.exec(kept) ?? [];
    expect(head.length + Number(missing) + tail.length).toBe(400);
    expect(kept).not.toContain("ask");
  });

  test("a redactor decides on each text, and may leave it out", () => {
    const seen: string[] = [];
    const content = (text: string): string | undefined => {
      seen.push(text);
      return text === "drop" ? undefined : text.replaceAll("Ada", "[name]");
    };
    const asked = asking([
      { role: "user", content: "I am Ada" },
      { role: "user", content: "drop" },
    ]);
    expect(messagesOf(recorded(asked, { content })["gen_ai.input.messages"])).toEqual([
      { role: "user", parts: [{ type: "text", content: "I am [name]" }] },
      { role: "user", parts: [] },
    ]);
    expect(seen.toSorted()).toEqual(["I am Ada", "drop"]);
    expect(recorded({ of: "result", text: "drop" }, { content })).toEqual({});
  });

  describe("a redactor decides on messages of errors too, since a tool's may be its result", () => {
    const failed = (content: OtelTelemetryOptions["content"], error: unknown) => {
      const { tracer, ended } = recording();
      const span = otelTelemetry({ tracer, content }).startSpan("ravi.tool", { tool: "find" });
      const telling = (): void => span.recordError(error);
      return { telling, span: () => (span.end(), only(ended())) };
    };
    const error = new ToolError({ toolName: "find", message: "no customer Ada" });

    test("on one of what has failed", () => {
      const { telling, span } = failed((text) => text.replaceAll("Ada", "[name]"), error);
      telling();
      const { status, events } = span();
      expect(status).toEqual({ code: SpanStatusCode.ERROR, message: "no customer [name]" });
      expect(events[0]?.attributes).toEqual({
        "exception.type": "TOOL_ERROR",
        "exception.message": "no customer [name]",
      });
    });

    test("on one of what was stopped", () => {
      const { telling, span } = failed(
        (text) => text.replaceAll("Ada", "[name]"),
        new MiddlewareTermination({ layer: "guard", reason: "speaks of Ada" }),
      );
      telling();
      expect(span().attributes["ravi.reason"]).toContain("speaks of [name]");
    });

    test("and may leave it out", () => {
      for (const each of [error, new CancellationError({ reason: "Ada said so" })]) {
        const { telling, span } = failed(() => undefined, each);
        telling();
        const { status, attributes, events } = span();
        expect(JSON.stringify([status, attributes, events])).not.toContain("Ada");
      }
    });

    test("it sees all of it, before it is cut", () => {
      const { telling, span } = failed((text) => text.replaceAll("Ada", ""), new Error("Ada".repeat(1_001)));
      telling();
      const { status, events } = span();
      expect(status.code).toBe(SpanStatusCode.ERROR);
      expect(JSON.stringify([status, events])).not.toContain("Ad");
    });

    test("if it fails, the span is an error all the same, without the message", () => {
      const { telling, span } = failed(() => {
        throw new Error("broken");
      }, error);
      expect(telling).toThrow("broken");
      const { status, attributes } = span();
      expect(status).toEqual({ code: SpanStatusCode.ERROR });
      expect(attributes["error.type"]).toBe("TOOL_ERROR");
    });
  });

  test("a long text is cut in the middle, and of a long conversation the end is kept", () => {
    const cut = String(
      recorded({ of: "result", text: `a${"x".repeat(50_000)}z` })["gen_ai.tool.call.result"],
    );
    expect(cut.length).toBeLessThanOrEqual(10_000);
    expect(cut).toMatch(/^a.*z$/s);

    const messages = Array.from({ length: 100 }, (_, at): ChatMessage => ({
      role: "user",
      content: `no ${at}`,
    }));
    const options = { content: true, maxContentChars: 11 };
    const kept = messagesOf(recorded(asking(messages), options)["gen_ai.input.messages"]);
    expect(kept).toEqual([
      { role: "system", parts: [{ type: "ravi.omitted", messages: 97 }] },
      expect.anything(),
      { role: "user", parts: [{ type: "text", content: "no 98" }] },
      { role: "user", parts: [{ type: "text", content: "no 99" }] },
    ]);
  });
});
