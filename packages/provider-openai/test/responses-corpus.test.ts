import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BROKEN_STREAMS, BROKEN_WHOLES, STREAMS, WHOLES } from "./responses-cases.ts";
import {
  client,
  CUTS,
  deltasOf,
  failureOf,
  HELLO,
  type RawServer,
  rawServer,
  sendPieces,
  streamed,
} from "./support.ts";

interface Sent {
  readonly type: string;
  readonly pieces: readonly Buffer[];
}

let server: RawServer;
let next: Sent;

beforeAll(async () => {
  server = await rawServer((response) => {
    response.writeHead(200, { "content-type": next.type, "x-request-id": "req-7" });
    sendPieces(response, next.pieces);
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const model = () => client(server, { api: "responses" });

const broken = BROKEN_STREAMS.map(
  ([name, bytes, kind, type = "text/event-stream"]) => [name, { bytes, kind, type }] as const,
);

const textOfContent = (content: unknown): string =>
  typeof content === "string"
    ? content
    : (content as { type: string; text: string }[])
        .map((part) => (part.type === "text" ? part.text : ""))
        .join("");

describe.each(CUTS)("T10: a stream of responses, %s", (_, cut) => {
  test.each(STREAMS)("of %s is read as it was meant", async (_name, bytes, expected) => {
    next = { type: "text/event-stream", pieces: cut(Buffer.from(bytes)) };
    const { events, response } = await streamed(model());
    const { text = "", told = text, reasoning = "", calls = [] } = expected;
    expect(textOfContent(response.message.content)).toBe(text);
    expect(deltasOf(events, "text")).toBe(told);
    expect(deltasOf(events, "reasoning")).toBe(reasoning);
    const { toolCalls = [] } = response.message;
    expect(toolCalls.map((call) => [call.id, call.name, call.arguments])).toEqual(calls);
    const announced = events.flatMap((each) =>
      each.type === "toolCall" && each.id !== undefined ? [each.id] : [],
    );
    expect(announced).toEqual(toolCalls.map((call) => call.id));
    expect(response.finishReason).toBe(expected.finishReason ?? "stop");
    if ("usage" in expected) expect(response.usage).toEqual(expected.usage);
  });

  test.each(broken)("of %s is a failure, not an answer", async (_name, { bytes, kind, type }) => {
    next = { type, pieces: cut(Buffer.from(bytes)) };
    const error = await failureOf(streamed(model()));
    expect(error).toMatchObject({ code: "PROVIDER_ERROR", kind, requestId: "req-7" });
  });
});

describe.each(CUTS)("T10: a response that is not streamed, %s", (_, cut) => {
  test.each(WHOLES)(
    "with %s is read as it was meant, also where a stream was asked for",
    async (_name, bytes, expected) => {
      next = { type: "application/json", pieces: cut(Buffer.from(bytes)) };
      const { text = "", calls = [] } = expected;
      for (const response of [await model().generate(HELLO), (await streamed(model())).response]) {
        expect(response.message.content).toBe(text);
        const { toolCalls = [] } = response.message;
        expect(toolCalls.map((call) => [call.id, call.name, call.arguments])).toEqual(calls);
        expect(response.finishReason).toBe(expected.finishReason ?? "stop");
        if ("usage" in expected) expect(response.usage).toEqual(expected.usage);
      }
    },
  );

  test.each(BROKEN_WHOLES)("with %s is a failure, not an answer", async (_name, bytes, kind) => {
    next = { type: "application/json", pieces: cut(Buffer.from(bytes)) };
    expect(await failureOf(model().generate(HELLO))).toMatchObject({
      kind,
      retryable: true,
      requestId: "req-7",
    });
    expect(await failureOf(streamed(model()))).toMatchObject({ kind, retryable: true });
  });
});
